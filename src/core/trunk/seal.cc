// SPDX-License-Identifier: BSD-2-Clause
#include "core/trunk/seal.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/trunk/nh.h"

namespace softib::trunk {

Sealer::Sealer(const SipKey& key) {
    // The SipHash key and the words of NH are each derived from the key that was given.
    const auto derived = [&](std::uint32_t number) {
        const std::array<std::uint8_t, 6> label{'t',
                                                'r',
                                                static_cast<std::uint8_t>(number >> 24),
                                                static_cast<std::uint8_t>(number >> 16),
                                                static_cast<std::uint8_t>(number >> 8),
                                                static_cast<std::uint8_t>(number)};
        return siphash(key, label);
    };
    const std::array<std::uint64_t, 2> halves{derived(0), derived(1)};
    std::memcpy(key_.data(), halves.data(), key_.size());
    for (std::uint32_t i = 0; i < words_.size(); i += 2) {
        const std::uint64_t both = derived(2 + i);
        std::memcpy(&words_[i], &both, sizeof both);
    }
}

std::uint64_t Sealer::seal(std::span<const std::uint8_t, 40> header,
                           std::span<const std::uint8_t> body) const {
    SOFTIB_CHECK(body.size() <= kDatagramBytesMax);
    constexpr std::size_t kBlocksMax = (kDatagramBytesMax + kBlockBytes - 1) / kBlockBytes;
    std::array<std::uint8_t, 40 + 8 + 8 * kBlocksMax> all;
    std::ranges::copy(header, all.begin());
    std::size_t used = header.size();
    const auto put = [&](std::uint64_t word) {
        std::memcpy(&all[used], &word, sizeof word);
        used += sizeof word;
    };
    put(body.size());
    for (std::size_t at = 0; at < body.size(); at += kBlockBytes) {
        put(nh(body.subspan(at, std::min(kBlockBytes, body.size() - at)), words_));
    }
    return siphash(key_, std::span(all).first(used));
}

}  // namespace softib::trunk
