// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The seal of a trunk's datagram: 64 bits over all its bytes that only an end with the key can
// make. SipHash of kilobytes would be slow, so the bytes are first hashed block by block with
// secret words (nh.h), and SipHash covers the header and these hashes.

#include <array>
#include <cstdint>
#include <span>

#include "core/base/siphash.h"

namespace softib::trunk {

inline constexpr std::size_t kDatagramBytesMax = 60'000;

class Sealer {
  public:
    explicit Sealer(const SipKey& key);

    /// The header has 40 bytes, the body kDatagramBytesMax at most.
    std::uint64_t seal(std::span<const std::uint8_t, 40> header,
                       std::span<const std::uint8_t> body) const;

  private:
    static constexpr std::size_t kBlockBytes = 1024;

    SipKey key_;
    std::array<std::uint32_t, kBlockBytes / 4> words_;
};

}  // namespace softib::trunk
