// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Credit arithmetic of the link layer (IBA vol. 1, 7.9.4). A receiver grants room per virtual lane
// in blocks of 64 bytes. Credits are not increments: the sender counts what it has sent since the
// link came up (FCTBS) and the receiver says up to which count it may go (FCCL), both modulo 4096.
// So a lost flow control packet costs nothing, and a lost data packet only until the next FCTBS.

#include <cstdint>

namespace softib::link {

inline constexpr std::uint32_t kBlockBytes = 64;
inline constexpr std::uint16_t kCountMask = 0xFFF;
/// A receiver never grants more than half the circle, or "ahead" would look like "behind".
inline constexpr std::uint16_t kGrantMax = 2048;

/// Blocks that a packet takes, its bytes counted from the LRH on.
constexpr std::uint16_t blocks_of(std::uint32_t bytes) {
    return static_cast<std::uint16_t>((bytes + kBlockBytes - 1) / kBlockBytes);
}

constexpr std::uint16_t count_after(std::uint16_t count, std::uint32_t blocks) {
    return static_cast<std::uint16_t>((count + blocks) & kCountMask);
}

/// Returns the blocks that may still be sent: none if the limit is behind what was sent, as when a
/// receiver has taken room away.
constexpr std::uint16_t credits(std::uint16_t fctbs, std::uint16_t fccl) {
    const std::uint16_t ahead = static_cast<std::uint16_t>((fccl - fctbs) & kCountMask);
    return ahead <= kGrantMax ? ahead : std::uint16_t{0};
}

/// 7.9.4.3: a packet may start if its last block is within the limit.
constexpr bool may_send(std::uint16_t fctbs, std::uint16_t fccl, std::uint16_t blocks) {
    return credits(fctbs, fccl) >= blocks;
}

/// The receiver's side, for callers that exchange flow control packets one by one.
class Receiver {
  public:
    /// More than kGrantMax is of no use on one lane, and is not granted.
    explicit constexpr Receiver(std::uint32_t blocks) : free_(blocks) {}

    /// Puts a packet into the buffer. Returns false if it did not fit: the sender has broken the
    /// rules.
    constexpr bool take(std::uint16_t blocks) {
        abr_ = count_after(abr_, blocks);
        if (blocks > free_) {
            return false;
        }
        free_ -= blocks;
        return true;
    }
    constexpr void release(std::uint16_t blocks) { free_ += blocks; }
    /// A flow control packet of the sender: what was lost on the way counts as received.
    constexpr void heard(std::uint16_t fctbs) { abr_ = fctbs & kCountMask; }
    constexpr std::uint16_t fccl() const {
        return count_after(abr_, free_ < kGrantMax ? free_ : kGrantMax);
    }
    constexpr std::uint32_t free_blocks() const { return free_; }

  private:
    std::uint16_t abr_ = 0;  ///< Adjusted blocks received.
    std::uint32_t free_;
};

}  // namespace softib::link
