// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A queue pair on the packet path. Send requests go into a ring in the arena, from which the
// carrier takes them (runtime/shm/packet_queue.h). The carrier also takes the receive requests,
// writes all completions, and stops a queue pair whose completion queue has overflowed. Only the
// carrier changes the queue pair's state; to modify it is a call to the carrier. If the carrier
// ends, the queue pair ends with it.

#include <atomic>
#include <cstdint>

#include "runtime/direct/qp_base.h"

namespace softib::direct {

class PacketQp final : public QpBase {
  public:
    PacketQp(Process& process, const QpInit& init, std::uint32_t index)
        : QpBase(process, init, index) {}

    int post_locked(const shm::WorkRequest& wr);
    void unlock_receive_and_wake();
    void stop_if_failed() override;

  private:
    int open() override;
    void close() override;
    int change_locked(const QpAttr& attr, std::uint32_t mask) override;
    bool fits_ethernet(const QpAttr& attr, std::uint32_t mask) const;
    void flush_lost_sends();
    void flush_lost_receives();

    shm::LockWord carrier_ = 0;  ///< The lock word of the carrier that knows the queue pair.
    /// The carrier that knew the queue pair has ended. Written under the stripe lock; threads that
    /// post receive requests read it without that lock.
    std::atomic<bool> stopped_with_carrier_{false};
};
static_assert(QpKind<PacketQp>);

}  // namespace softib::direct
