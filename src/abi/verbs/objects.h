// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The objects behind the public structures. Each begins with its public part, so that the pointer
// that a program holds converts by a cast; our own fields follow. (In Context, the public part lies
// behind a prefix.)

#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "abi/verbs/abi64.h"
#include "runtime/direct/cq.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_base.h"
#include "runtime/direct/recv_queue.h"
#include "runtime/direct/share.h"
#include "runtime/shm/types.h"

namespace softib::abi {

static_assert(sizeof(hca::Sge) == sizeof(ibv_sge) &&
              offsetof(hca::Sge, lkey) == offsetof(ibv_sge, lkey) &&
              offsetof(hca::Sge, length) == offsetof(ibv_sge, length));
inline const hca::Sge* sges_of(const ibv_sge* list) {
    return reinterpret_cast<const hca::Sge*>(list);
}

/// A count of the objects that use an object. As in the kernel, an object that is in use cannot be
/// destroyed (EBUSY).
class Uses {
  public:
    void add() { count_.fetch_add(1, std::memory_order_relaxed); }
    void drop() { count_.fetch_sub(1, std::memory_order_acq_rel); }
    bool any() const { return count_.load(std::memory_order_acquire) != 0; }

  private:
    std::atomic<std::uint32_t> count_{0};
};

struct Device {
    union {
        ibv_device base;
        std::byte space[kVerbsDeviceBytes];
    };
    direct::Process* process;
    std::uint32_t hca;
    std::uint32_t index;  ///< The index in the host's list, as netlink and sysfs give it.
};

/// What depends on the data path of the fabric (runtime/direct/data_path.h), apart from the
/// operations of the public structure. Chosen when the context opens.
struct PathOps {
    direct::QpBase* (*make_qp)(direct::Process&, const direct::QpInit&);
    direct::Srq* (*make_srq)(direct::Process&, const direct::Srq::Init&);
    int (*wr_complete)(ibv_qp_ex*);
    int (*start_poll)(ibv_cq_ex*, ibv_poll_cq_attr*);
};

struct Context {
    alignas(16) std::byte prefix[kVerbsContextPrefixBytes];
    ibv_context base;
    direct::Process* process;
    std::uint32_t hca;
    std::uint32_t async_channel;
    std::uint32_t async_slot;
    PathOps path;
};
static_assert(offsetof(Context, base) == kVerbsContextPrefixBytes);

struct Pd {
    ibv_pd base;
    std::uint32_t id;
    Pd* parent;  ///< The protection domain of a parent domain; nullptr in any other.
    ibv_td* td;
    Uses uses;
    bool imported;
    direct::Share share;
};

struct Td {
    ibv_td base;
    Uses uses;
};

struct Mr {
    ibv_mr base;
    std::uint32_t index;
    bool imported;
    struct Dm* dm;
    direct::Share share;
    direct::PinnedPages pinned;
};

struct Mw {
    ibv_mw base;
    std::uint32_t index;
    direct::Share share;
};

struct Dm {
    ibv_dm base;
    std::uint64_t off;
    std::uint64_t length;
    Uses uses;
    bool imported;
    direct::Share share;
};

struct Channel {
    ibv_comp_channel base;
    std::uint32_t id;
};

struct Cq {
    ibv_cq_ex base;
    direct::Cq* runtime;
    std::uint64_t event_id;
    std::uint32_t comp_events_delivered;
    std::uint32_t async_events_delivered;
    Uses uses;
    shm::Cqe current;  ///< The completion that ibv_start_poll or ibv_next_poll has taken.
    std::atomic<std::uint32_t> empty_polls;
    direct::Share share;
};

struct Srq {
    ibv_srq base;
    direct::Srq* runtime;
    std::uint64_t event_id;
    std::uint32_t events_delivered;
    Uses uses;
    Cq* cq;
    Pd* pd;
    struct Xrcd* xrcd;
    ibv_srq_type type;
    direct::Share share;
};

struct Xrcd {
    ibv_xrcd base;
    std::uint32_t id;
    Uses uses;
};

struct Qp {
    QpExSpace space;
    direct::QpBase* runtime;
    std::uint64_t event_id;
    std::uint32_t events_delivered;
    ibv_qp_init_attr init;
    Pd* pd;
    Xrcd* xrcd;
    bool extended;
    bool opened;  ///< A further handle of a queue pair, made by ibv_open_qp.
    std::uint32_t attached_groups;
    // The requests that were built since ibv_wr_start.
    struct Building {
        shm::WorkRequest wr;
        std::size_t sge_first;
        bool inline_data;
        shm::BindInfo bind;
    };
    std::vector<Building> building;
    std::vector<hca::Sge> building_sges;
    std::vector<char> building_data;
    int building_error;
    direct::Share share;
};

struct Ah {
    ibv_ah base;
    shm::AddressHandle runtime;
    direct::Share share;
};

inline Context& impl(ibv_context* c) {
    return *reinterpret_cast<Context*>(reinterpret_cast<std::byte*>(c) - kVerbsContextPrefixBytes);
}
inline bool is_ethernet(ibv_context* c) {
    return impl(c).process->self.arena.header->link_layer == hca::LinkLayer::kEthernet;
}
inline Device& impl(ibv_device* d) {
    return *reinterpret_cast<Device*>(d);
}
inline Pd& impl(ibv_pd* p) {
    return *reinterpret_cast<Pd*>(p);
}
inline Td& impl(ibv_td* t) {
    return *reinterpret_cast<Td*>(t);
}
inline Mr& impl(ibv_mr* m) {
    return *reinterpret_cast<Mr*>(m);
}
inline Mw& impl(ibv_mw* m) {
    return *reinterpret_cast<Mw*>(m);
}
inline Dm& impl(ibv_dm* d) {
    return *reinterpret_cast<Dm*>(d);
}
inline Channel& impl(ibv_comp_channel* c) {
    return *reinterpret_cast<Channel*>(c);
}
inline Cq& impl(ibv_cq* c) {
    return *reinterpret_cast<Cq*>(c);
}
inline Cq& impl(ibv_cq_ex* c) {
    return *reinterpret_cast<Cq*>(c);
}
inline Srq& impl(ibv_srq* s) {
    return *reinterpret_cast<Srq*>(s);
}
inline Xrcd& impl(ibv_xrcd* x) {
    return *reinterpret_cast<Xrcd*>(x);
}
inline Qp& impl(ibv_qp* q) {
    return *reinterpret_cast<Qp*>(q);
}
inline Qp& impl(ibv_qp_ex* q) {
    return *reinterpret_cast<Qp*>(q);
}
inline Ah& impl(ibv_ah* a) {
    return *reinterpret_cast<Ah*>(a);
}

/// Returns the protection domain that counts for keys: a parent domain counts as its parent.
inline Pd& protection(ibv_pd* p) {
    Pd& pd = impl(p);
    return pd.parent != nullptr ? *pd.parent : pd;
}

/// The objects that events refer to, by id. An event may outlive its object, whose id is then no
/// longer found. The same table gives handles to objects that can be imported.
class Registry {
  public:
    static Registry& get();

    std::uint64_t add(void* object);
    void remove(std::uint64_t id);
    /// Runs fn(object) under the table's lock. Returns false if the object is gone.
    template <typename Fn>
    bool with(std::uint64_t id, Fn&& fn) {
        const std::lock_guard guard(mutex_);
        const auto it = objects_.find(id);
        if (it == objects_.end()) {
            return false;
        }
        fn(it->second);
        return true;
    }

    void lock_for_fork() { mutex_.lock(); }
    void unlock_after_fork() { mutex_.unlock(); }

  private:
    std::mutex mutex_;
    std::uint64_t next_ = 1;
    std::unordered_map<std::uint64_t, void*> objects_;
};

template <typename T>
T* fail(int error) {
    errno = error;
    return nullptr;
}

/// Returns the result of a verb that a real driver passes on to the kernel: 0 or an errno value.
/// Sets errno to that value too, as the system call of such a driver would have.
inline int answer(int error) {
    if (error != 0) {
        errno = error;
    }
    return error;
}

/// Waits until `completed`, which the mutex guards and whose changes `cond` signals, has reached
/// `delivered`.
void wait_acknowledged(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::uint32_t& completed,
                       std::uint32_t delivered);

// Set the operations of a new context; those with `path` also what depends on the data path.
void set_memory_ops(verbs_context& ops, const shm::Arena& arena);
void set_device_memory_ops(verbs_context& ops);
void set_cq_ops(verbs_context& ops, const shm::Arena& arena, PathOps& path);
void set_qp_ops(verbs_context& ops, const shm::Arena& arena, PathOps& path);
void set_builder_ops(const shm::Arena& arena, PathOps& path);
void set_srq_ops(verbs_context& ops, const shm::Arena& arena, PathOps& path);
void set_query_ops(verbs_context& ops);

/// Sets the wr_* functions of an extended queue pair (qp_build.cc).
void set_builders(Qp& qp, const PathOps& path);
/// Creates a queue pair. Returns nullptr, with errno set, if that fails.
Qp* create_qp(ibv_context* context, const ibv_qp_init_attr_ex& attr);

}  // namespace softib::abi
