// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the environment says to libsharp_coll (SHARP_COLL_*), and where its messages go.

#include <cstdint>
#include <cstdio>

namespace softib::abi::sharp {

struct Settings {
    bool enable_sat = true;
    std::uint64_t sat_threshold_bytes = 16384;
    bool lock_on_comm_init = false;
    std::uint32_t quota_osts = 0;  ///< 0: as the manager thinks; the same below.
    std::uint32_t quota_payload_bytes = 0;
    std::uint32_t quota_groups = 0;
    int log_level = 1;  ///< 0: silence, 1: errors, 2: warnings, 3: what happens.

    static Settings read();
    void print(FILE* stream, bool with_text) const;
};

/// Writes a line to stderr if the level asks for it.
__attribute__((format(printf, 3, 4))) void tell(int log_level, int level, const char* format, ...);

}  // namespace softib::abi::sharp
