// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The seal of a trunk's datagram: 64 bits computed from all its bytes, which only an end that has
// the key can compute. SipHash over kilobytes would be slow. So the body is first hashed block by
// block with secret words (nh.h), and SipHash covers the header and these hashes.

#include <array>
#include <cstdint>
#include <span>

#include "core/base/siphash.h"

namespace softib::trunk {

inline constexpr std::size_t kDatagramBytesMax = 60'000;

class Sealer {
  public:
    explicit Sealer(const SipKey& key);

    /// Returns the seal of a header and a body of at most kDatagramBytesMax bytes.
    std::uint64_t seal(std::span<const std::uint8_t, 40> header,
                       std::span<const std::uint8_t> body) const;

  private:
    static constexpr std::size_t kBlockBytes = 1024;

    SipKey key_;
    std::array<std::uint32_t, kBlockBytes / 4> words_;
};

}  // namespace softib::trunk
