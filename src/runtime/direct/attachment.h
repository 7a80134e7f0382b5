// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How this process belongs to a fabric: the arena that it has mapped, its slot and its name in
// locks there, its devices, and its connection to the daemon. Whatever moves data or writes
// completions needs no more of a process than this.
//
// Thread rule: constant from join() on. The functions may be called by any thread.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/shm/arena.h"
#include "runtime/shm/channel.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/rpc.h"
#include "runtime/shm/shm_lock.h"

namespace softib::direct {

class Attachment {
  public:
    shm::Arena arena;
    shm::Owner owner = 0;
    shm::LockWord lock_word =
        0;  ///< What this process writes into a lock of the arena that it holds.
    shm::ProcSlot* slot = nullptr;
    bool hazard_fence = false;  ///< Hazards need a fence, since the kernel lacks membarrier.
    std::string fabric_dir;
    std::string process_dir;
    std::vector<shm::DeviceEntry> devices;
    shm::ChannelWriter channels;

    /// Joins the fabric in the directory `dir`, as a program on these virtual hosts (names
    /// separated by commas). Returns false, with errno set, if no fabric is given (ENODEV), if the
    /// daemon does not answer, or if a host does not exist. Peers see the process after go_live().
    bool join(const char* dir, const char* hosts);
    bool go_live();
    /// Gives up what a forked child has inherited of the parent's attachment.
    void become_inherited();
    /// Returns false in a forked child, where this object belongs to the parent.
    bool usable() const { return !inherited_.load(std::memory_order_relaxed); }

    /// Sends a request to the daemon and waits for its status. Returns 0 or an errno value.
    template <typename Request>
    int call(const Request& request) const {
        const std::lock_guard guard(socket_mutex_);
        return socket_ >= 0 && usable() ? shm::rpc_ask(socket_, request) : ENOTCONN;
    }
    /// Sends a message that has no reply. It is lost if another thread of this process is talking
    /// to the daemon, or if the daemon is stopped or dead.
    template <typename Request>
    void tell(const Request& request) const {
        shm::Message message;
        const std::unique_lock guard(socket_mutex_, std::try_to_lock);
        if (guard && socket_ >= 0 && usable() && to_message(request, message)) {
            rpc_tell(socket_, message);
        }
    }

    /// Closes an event channel and removes its name. In a forked child, only closes the descriptor:
    /// the name is the parent's.
    void remove_channel(std::uint32_t id, int fd) const;

    /// Tells another process that something awaits it (Progress::run), and wakes its helper thread.
    void ring(shm::Owner target) const;
    /// Rings every process that has mapped memory of a peer, because a region that peers map is
    /// gone: those processes give up stale mappings.
    void ring_mappers() const;

  private:
    int socket_ = -1;
    /// This process's directory, locked so that a new daemon does not remove it while we live.
    int directory_ = -1;
    mutable std::mutex socket_mutex_;
    std::atomic<bool> inherited_{false};
};

}  // namespace softib::direct
