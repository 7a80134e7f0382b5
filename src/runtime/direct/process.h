// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// This process as a member of a fabric: its slot, its allocators, its helper thread. Attached once,
// kept until the process ends. A forked child starts without one; what it inherited of its parent's
// is unusable there.

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/direct/memory/copy_team.h"
#include "runtime/direct/memory/gpu/memory.h"
#include "runtime/direct/memory/shared_memory.h"
#include "runtime/shm/alloc.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/channel.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/rpc.h"
#include "runtime/shm/shm_lock.h"

namespace softib::live {

class Cq;
class Qp;
class Srq;
class MemoryMap;

class Process {
  public:
    /// Returns the one of this process. One that is not attached yet attaches to the fabric with
    /// this directory, on these hosts (names, by commas). nullptr and errno: no fabric is given
    /// (ENODEV), the daemon does not answer, the host does not exist.
    static Process* attach(const char* dir, const char* hosts);

    Arena arena;
    Owner owner = 0;
    LockWord lock_word = 0;  ///< Our name in locks of the arena.
    ProcSlot* slot = nullptr;
    bool hazard_fence = false;
    bool enforces_memlock = false;               ///< See PinnedPages.
    std::atomic<std::uint64_t> pinned_bytes{0};  ///< The same.

    std::string fabric_dir;
    std::string process_dir;
    std::vector<DeviceEntry> devices;

    TableAllocator qp_table;
    TableAllocator mr_table;
    TableAllocator cq_table;
    TableAllocator srq_table;
    ChunkAllocator memory;
    ChannelWriter channels;
    MemoryMap* regions = nullptr;
    CopyTeam copy_team;
    gpu::Memory gpu{*this};
    SharedMapper shared_mapper{arena};
    std::optional<Mappings> shared_mappings;  ///< Mappings of peers' memory (shared_memory.h).

    Stripe& next_stripe();
    /// The number of a protection or XRC domain that no other process has; 0: none is left.
    std::uint32_t take_domain();
    void release_domain(std::uint32_t id);
    std::uint32_t next_channel() { return ++channel_counter_; }
    /// Closes an event channel; its name goes with it unless it is the parent's.
    void remove_channel(std::uint32_t id, int fd);

    /// Asks the daemon for something of which the status says all. Returns 0 or an errno value.
    template <typename Request>
    int call(const Request& request) {
        const std::lock_guard guard(socket_mutex_);
        return socket_ >= 0 && usable() ? rpc_ask(socket_, request) : ENOTCONN;
    }
    /// Says something that has no reply; lost when the daemon is busy with us, stopped or dead.
    template <typename Request>
    void tell(const Request& request) {
        Message message;
        const std::unique_lock guard(socket_mutex_, std::try_to_lock);
        if (guard && socket_ >= 0 && usable() && to_message(request, message)) {
            rpc_tell(socket_, message);
        }
    }

    /// False in a forked child, where this object belongs to the parent.
    bool usable() const { return !inherited_.load(std::memory_order_relaxed); }

    /// Before each large copy: processes that share the cores come and go.
    void size_copy_team();

    // --- progress (progress.cc) ---------------------------------------------------------------
    /// Queue pairs whose head request waits (receiver not ready, no answer). Polls drive them.
    std::atomic<std::uint32_t> stalled_count{0};
    std::atomic<std::uint64_t> poll_activity{0};
    std::mutex stalled_mutex;
    std::vector<Qp*> stalled;
    std::mutex qps_mutex;
    std::vector<Qp*> qps;
    std::mutex cqs_mutex;
    std::vector<Cq*> cqs;
    std::mutex srqs_mutex;
    std::vector<Srq*> srqs;

    std::mutex carrier_mutex;  ///< One call to the carrier at a time.

    /// Tells the helper which carrier has queues of this process, so that it notices the end of
    /// one that ends before its first look.
    void met_carrier(LockWord carrier) {
        LockWord none = 0;
        carrier_seen_.compare_exchange_strong(none, carrier);
    }
    void start_helper();
    void stop_helper_in_child();
    /// Advances stalled queue pairs and flushes those a peer moved to error.
    void progress();
    void add_stalled(Qp& qp);
    void remove_stalled(Qp& qp);
    bool wants_progress() const {
        return slot->attention.load(std::memory_order_relaxed) != 0 ||
               stalled_count.load(std::memory_order_relaxed) != 0;
    }
    /// Sets another process's attention and wakes its helper.
    void ring(Owner target) const;
    /// A region that peers map is gone: those who have mapped any look at what they have.
    void ring_mappers() const;

  private:
    bool join(const char* dir, const char* hosts);
    void become_inherited();
    static void* helper_main(void* self);
    void helper_loop();
    void look_for_carrier();
    /// Asks receivers to ring us; returns the time to the first deadline, 0: none.
    std::uint64_t arm_wakes();

    int socket_ = -1;
    int directory_ = -1;  ///< Our directory, locked: a new daemon leaves it alone while we live.
    std::mutex socket_mutex_;
    std::atomic<bool> inherited_{false};
    std::mutex domains_mutex_;
    std::uint32_t domains_top_ = 0;
    std::deque<std::uint32_t> domains_free_;  ///< Used again in turn: a stale one stays wrong.
    std::atomic<std::uint32_t> channel_counter_{0};
    std::atomic<std::uint32_t> stripe_counter_{0};
    std::atomic<std::uint32_t> large_copies_{0};
    std::atomic<bool> helper_started_{false};
    std::mutex progress_mutex_;   ///< Outermost: held while queue pairs are driven.
    std::vector<Qp*> advancing_;  ///< Guarded by progress_mutex_.
    std::mutex helper_mutex_;
    std::atomic<LockWord> carrier_seen_{0};

    friend struct ForkHandlers;
};

/// What happens around a fork. The C library calls them, and, for a fork that it runs no handlers
/// for, the preloaded library (memory_calls.h).
struct ForkHandlers {
    static void prepare();
    static void parent();
    static void child();
};

}  // namespace softib::live
