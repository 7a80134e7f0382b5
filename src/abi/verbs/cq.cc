// SPDX-License-Identifier: BSD-2-Clause
// Completion channels and queues.
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "abi/verbs/entry.h"
#include "abi/verbs/objects.h"
#include "abi/verbs/record.h"
#include "runtime/direct/data_path.h"
#include "runtime/shm/clock.h"

namespace softib::abi {

namespace {

constexpr std::uint64_t kWcTimestamps = std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
                                        IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr std::uint64_t kWcFlagsKnown = std::uint64_t{IBV_WC_STANDARD_FLAGS} | kWcTimestamps;

/// The empty polls in a row after which a program yields its core (about 30 microseconds). The next
/// completion of a program that streams comes earlier.
constexpr std::uint32_t kEmptyPollsMax = 1024;
constexpr std::uint32_t kPollsBetweenYields = 64;

/// Yields the core after many polls that found nothing. The completion comes from another process,
/// which may be waiting for this core if more processes spin than there are cores.
void give_way(Cq& cq, bool found) {
    if (found) {
        cq.empty_polls.store(0, std::memory_order_relaxed);
        return;
    }
    const std::uint32_t polls = cq.empty_polls.load(std::memory_order_relaxed) + 1;
    cq.empty_polls.store(polls, std::memory_order_relaxed);
    if (polls >= kEmptyPollsMax && polls % kPollsBetweenYields == 0) {
        sched_yield();
    }
}

void to_wc(const shm::Cqe& e, ibv_wc& wc) {
    wc.wr_id = e.wr_id;
    wc.status = static_cast<ibv_wc_status>(e.status);
    wc.opcode = static_cast<ibv_wc_opcode>(e.opcode);
    wc.vendor_err = 0;
    wc.byte_len = e.byte_len;
    wc.imm_data = e.imm_or_rkey;
    wc.qp_num = e.qpn;
    wc.src_qp = e.src_qpn;
    wc.wc_flags = e.flags;
    wc.pkey_index = e.pkey_index;
    wc.slid = e.slid;
    wc.sl = e.sl;
    wc.dlid_path_bits = e.path_bits;
}

template <typename Path>
int poll_cq(ibv_cq* base, int max, ibv_wc* wc) {
    Cq& cq = impl(base);
    impl(base->context).process->progress.poll();
    const int taken = cq.runtime->poll(max, [&wc](const shm::Cqe& e) { to_wc(e, *wc++); });
    if constexpr (Path::kPollsYield) {
        give_way(cq, taken != 0);
    }
    return taken;
}

/// poll_cq for a program that is recorded.
template <typename Path>
int poll_cq_recorded(ibv_cq* base, int max, ibv_wc* wc) {
    const int taken = poll_cq<Path>(base, max, wc);
    record::polled(taken != 0);
    return taken;
}

int req_notify_cq(ibv_cq* base, int solicited_only) {
    impl(base).runtime->arm(solicited_only != 0);
    return 0;
}

// --- The extended polling interface --------------------------------------------------------------

bool take(Cq& cq) {
    const shm::Cqe* e = cq.runtime->peek_locked();
    if (e == nullptr) {
        return false;
    }
    cq.current = *e;
    cq.runtime->advance_locked(*e);
    cq.base.wr_id = cq.current.wr_id;
    cq.base.status = static_cast<ibv_wc_status>(cq.current.status);
    return true;
}

template <typename Path>
int start_poll(ibv_cq_ex* base, ibv_poll_cq_attr* attr) {
    if (attr->comp_mask != 0) {
        return EINVAL;
    }
    Cq& cq = impl(base);
    impl(base->context).process->progress.poll();
    bool found = false;
    if (!cq.runtime->rests()) {
        cq.runtime->lock();
        found = take(cq);
        if (!found) {
            cq.runtime->unlock();
        }
    }
    if constexpr (Path::kPollsYield) {
        give_way(cq, found);
    }
    return found ? 0 : ENOENT;
}

int next_poll(ibv_cq_ex* base) {
    return take(impl(base)) ? 0 : ENOENT;
}
void end_poll(ibv_cq_ex* base) {
    impl(base).runtime->unlock();
}

ibv_wc_opcode read_opcode(ibv_cq_ex* c) {
    return static_cast<ibv_wc_opcode>(impl(c).current.opcode);
}
std::uint32_t read_vendor_err(ibv_cq_ex*) {
    return 0;
}
std::uint32_t read_byte_len(ibv_cq_ex* c) {
    return impl(c).current.byte_len;
}
__be32 read_imm_data(ibv_cq_ex* c) {
    return impl(c).current.imm_or_rkey;
}
std::uint32_t read_qp_num(ibv_cq_ex* c) {
    return impl(c).current.qpn;
}
std::uint32_t read_src_qp(ibv_cq_ex* c) {
    return impl(c).current.src_qpn;
}
unsigned int read_wc_flags(ibv_cq_ex* c) {
    return impl(c).current.flags;
}
std::uint32_t read_slid(ibv_cq_ex* c) {
    return impl(c).current.slid;
}
std::uint8_t read_sl(ibv_cq_ex* c) {
    return impl(c).current.sl;
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex* c) {
    return impl(c).current.path_bits;
}
std::uint64_t read_completion_ts(ibv_cq_ex* c) {
    return impl(c).current.timestamp_ns;
}
std::uint16_t read_cvlan(ibv_cq_ex*) {
    return 0;
}
std::uint32_t read_flow_tag(ibv_cq_ex*) {
    return 0;
}
void read_tm_info(ibv_cq_ex*, ibv_wc_tm_info* info) {
    std::memset(info, 0, sizeof *info);
}
std::uint64_t read_wallclock_ns(ibv_cq_ex* c) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    const std::uint64_t now = static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
                              static_cast<std::uint64_t>(t.tv_nsec);
    return now - (shm::monotonic_ns() - impl(c).current.timestamp_ns);
}

void set_readers(ibv_cq_ex& c) {
    c.start_poll = impl(c.context).path.start_poll;
    c.next_poll = next_poll;
    c.end_poll = end_poll;
    c.read_opcode = read_opcode;
    c.read_vendor_err = read_vendor_err;
    c.read_byte_len = read_byte_len;
    c.read_imm_data = read_imm_data;
    c.read_qp_num = read_qp_num;
    c.read_src_qp = read_src_qp;
    c.read_wc_flags = read_wc_flags;
    c.read_slid = read_slid;
    c.read_sl = read_sl;
    c.read_dlid_path_bits = read_dlid_path_bits;
    c.read_completion_ts = read_completion_ts;
    c.read_cvlan = read_cvlan;
    c.read_flow_tag = read_flow_tag;
    c.read_tm_info = read_tm_info;
    c.read_completion_wallclock_ns = read_wallclock_ns;
}

Cq* make_cq(ibv_context* context, std::uint32_t entries, void* user, ibv_comp_channel* channel,
            int vector, std::uint64_t wc_flags) {
    Context& c = impl(context);
    if (vector < 0 || vector >= context->num_comp_vectors || entries == 0 ||
        entries > direct::kCqEntriesMax - 1) {
        return fail<Cq>(EINVAL);
    }
    if (!c.process->self.usable()) {
        return fail<Cq>(EIO);
    }
    auto* cq = new (std::nothrow) Cq{};
    if (cq == nullptr || !cq->share.take(*c.process, c.hca, shm::ObjectKind::kCq)) {
        delete cq;
        return fail<Cq>(ENOMEM);
    }
    cq->event_id = Registry::get().add(cq);
    cq->runtime =
        direct::Cq::create(*c.process, c.hca, entries, channel != nullptr ? impl(channel).id : 0,
                           c.async_channel, cq->event_id, (wc_flags & kWcTimestamps) != 0);
    if (cq->runtime == nullptr) {
        const int saved = errno;
        Registry::get().remove(cq->event_id);
        delete cq;
        return fail<Cq>(saved);
    }
    cq->base.context = context;
    cq->base.channel = channel;
    cq->base.cq_context = user;
    cq->base.handle = cq->runtime->index();
    cq->base.cqe = static_cast<int>(cq->runtime->entries());
    pthread_mutex_init(&cq->base.mutex, nullptr);
    pthread_cond_init(&cq->base.cond, nullptr);
    if (channel != nullptr) {
        pthread_mutex_lock(&context->mutex);
        ++channel->refcnt;
        pthread_mutex_unlock(&context->mutex);
    }
    return cq;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
    if ((attr->comp_mask & ~static_cast<std::uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS |
                                                       IBV_CQ_INIT_ATTR_MASK_PD)) != 0) {
        return fail<ibv_cq_ex>(EINVAL);
    }
    if ((attr->wc_flags & ~kWcFlagsKnown) != 0) {
        return fail<ibv_cq_ex>(EOPNOTSUPP);
    }
    if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
        (attr->flags & ~static_cast<std::uint32_t>(IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
                                                   IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)) != 0) {
        return fail<ibv_cq_ex>(EINVAL);
    }
    Cq* cq = make_cq(context, attr->cqe, attr->cq_context, attr->channel,
                     static_cast<int>(attr->comp_vector), attr->wc_flags);
    if (cq == nullptr) {
        return nullptr;
    }
    set_readers(cq->base);
    return &cq->base;
}

}  // namespace

void set_cq_ops(verbs_context& ops, const shm::Arena& arena, PathOps& path) {
    ops.create_cq_ex = create_cq_ex;
    direct::with_data_path(arena, [&]<typename Path>(Path) {
        ops.context.ops.poll_cq = record::wanted() ? poll_cq_recorded<Path> : poll_cq<Path>;
        path.start_poll = start_poll<Path>;
    });
    ops.context.ops.req_notify_cq = req_notify_cq;
}

}  // namespace softib::abi

using namespace softib;
using namespace softib::abi;

extern "C" {

ibv_comp_channel* softib_ibv_create_comp_channel(ibv_context* context) noexcept {
    direct::Process& process = *impl(context).process;
    auto* channel = new (std::nothrow) Channel{};
    if (channel == nullptr) {
        return fail<ibv_comp_channel>(ENOMEM);
    }
    channel->id = process.tables.next_channel();
    channel->base.context = context;
    channel->base.fd = shm::channel_create(process.self.process_dir, channel->id);
    if (channel->base.fd < 0) {
        const int saved = errno;
        delete channel;
        return fail<ibv_comp_channel>(saved);
    }
    return &channel->base;
}

int softib_ibv_destroy_comp_channel(ibv_comp_channel* base) noexcept {
    Channel& channel = impl(base);
    pthread_mutex_lock(&base->context->mutex);
    const bool busy = base->refcnt != 0;
    pthread_mutex_unlock(&base->context->mutex);
    if (busy) {
        return EBUSY;
    }
    impl(base->context).process->self.remove_channel(channel.id, base->fd);
    delete &channel;
    return 0;
}

ibv_cq* softib_ibv_create_cq(ibv_context* context, int cqe, void* user, ibv_comp_channel* channel,
                             int vector) noexcept {
    if (cqe <= 0) {
        return fail<ibv_cq>(EINVAL);
    }
    Cq* cq = make_cq(context, static_cast<std::uint32_t>(cqe), user, channel, vector, 0);
    return cq != nullptr ? reinterpret_cast<ibv_cq*>(&cq->base) : nullptr;
}

int softib_ibv_resize_cq(ibv_cq* base, int cqe) noexcept {
    if (cqe <= 0) {
        return answer(EINVAL);
    }
    const int error = impl(base).runtime->resize(static_cast<std::uint32_t>(cqe));
    if (error == 0) {
        base->cqe = static_cast<int>(impl(base).runtime->entries());
    }
    return answer(error);
}

int softib_ibv_destroy_cq(ibv_cq* base) noexcept {
    Cq& cq = impl(base);
    if (cq.uses.any()) {
        return answer(EBUSY);
    }
    Registry::get().remove(cq.event_id);
    wait_acknowledged(base->mutex, base->cond, base->comp_events_completed,
                      cq.comp_events_delivered);
    wait_acknowledged(base->mutex, base->cond, base->async_events_completed,
                      cq.async_events_delivered);
    if (base->channel != nullptr) {
        pthread_mutex_lock(&base->context->mutex);
        --base->channel->refcnt;
        pthread_mutex_unlock(&base->context->mutex);
    }
    delete cq.runtime;
    pthread_mutex_destroy(&base->mutex);
    pthread_cond_destroy(&base->cond);
    delete &cq;
    return 0;
}

int softib_ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** out, void** user) noexcept {
    for (;;) {
        shm::ChannelEvent e{};
        if (read(channel->fd, &e, sizeof e) != sizeof e) {
            return -1;
        }
        // An event of a queue that was destroyed meanwhile is dropped.
        if (Registry::get().with(e.cookie, [&](void* object) {
                auto* cq = static_cast<Cq*>(object);
                ++cq->comp_events_delivered;
                cq->runtime->event_taken(e.kind, e.port);
                *out = reinterpret_cast<ibv_cq*>(&cq->base);
                *user = cq->base.cq_context;
            })) {
            return 0;
        }
    }
}

void softib_ibv_ack_cq_events(ibv_cq* cq, unsigned int events) noexcept {
    if (events == 0) {
        return;
    }
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += events;
    pthread_cond_broadcast(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

}  // extern "C"
