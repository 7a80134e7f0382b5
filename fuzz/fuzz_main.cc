// SPDX-License-Identifier: BSD-2-Clause
// The main program of each fuzzer. The build gives it the name of its entry.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/check.h"
#include "entries.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto entries = softib::fuzz::entries();
    static const auto entry =
        std::ranges::find(entries, SOFTIB_FUZZ_ENTRY, &softib::fuzz::Entry::name);
    SOFTIB_CHECK(entry != entries.end());
    SOFTIB_CHECK(entry->holds(std::span(data, size)));
    return 0;
}
