// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Credit arithmetic of the link layer (IBA vol. 1, 7.9.4). A receiver grants room per virtual lane
// in blocks of 64 bytes. Credits are not increments: the sender counts the blocks that it has sent
// since the link came up (FCTBS), and the receiver tells it up to which count it may send (FCCL),
// both modulo 4096. So a lost flow control packet costs no credits, and the credits of a lost data
// packet come back with the next FCTBS.

#include <cstdint>

namespace softib::link {

inline constexpr std::uint32_t kBlockBytes = 64;
inline constexpr std::uint16_t kCountMask = 0xFFF;
/// The most that a receiver grants: half of the 4096 counts, since with more a limit ahead of the
/// sender's count could not be told from one behind it.
inline constexpr std::uint16_t kGrantMax = 2048;

/// Returns the blocks that a packet takes; `bytes` counts from the LRH on.
constexpr std::uint16_t blocks_of(std::uint32_t bytes) {
    return static_cast<std::uint16_t>((bytes + kBlockBytes - 1) / kBlockBytes);
}

constexpr std::uint16_t count_after(std::uint16_t count, std::uint32_t blocks) {
    return static_cast<std::uint16_t>((count + blocks) & kCountMask);
}

/// Returns the blocks that may still be sent: none if the limit is behind what was sent, as after a
/// receiver has reduced its room.
constexpr std::uint16_t credits(std::uint16_t fctbs, std::uint16_t fccl) {
    const std::uint16_t ahead = static_cast<std::uint16_t>((fccl - fctbs) & kCountMask);
    return ahead <= kGrantMax ? ahead : std::uint16_t{0};
}

/// Returns whether a packet may start: its last block must be within the limit (IBA vol. 1,
/// 7.9.4.3).
constexpr bool may_send(std::uint16_t fctbs, std::uint16_t fccl, std::uint16_t blocks) {
    return credits(fctbs, fccl) >= blocks;
}

/// The receiver's side of one lane, for callers that exchange flow control packets one by one.
class Receiver {
  public:
    /// `blocks`: the size of the buffer. At most kGrantMax of them are granted at a time.
    explicit constexpr Receiver(std::uint32_t blocks) : free_(blocks) {}

    /// Puts a packet into the buffer. Returns false if it did not fit, which means that the sender
    /// has sent more than it was granted.
    constexpr bool take(std::uint16_t blocks) {
        abr_ = count_after(abr_, blocks);
        if (blocks > free_) {
            return false;
        }
        free_ -= blocks;
        return true;
    }
    constexpr void release(std::uint16_t blocks) { free_ += blocks; }
    /// Handles a flow control packet of the sender: blocks that were lost on the way count as
    /// received from now on.
    constexpr void heard(std::uint16_t fctbs) { abr_ = fctbs & kCountMask; }
    constexpr std::uint16_t fccl() const {
        return count_after(abr_, free_ < kGrantMax ? free_ : kGrantMax);
    }
    constexpr std::uint32_t free_blocks() const { return free_; }

  private:
    std::uint16_t abr_ = 0;  ///< ABR, the adjusted blocks received.
    std::uint32_t free_;
};

}  // namespace softib::link
