// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues and XRC domains.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <new>

#include "abi/verbs/entry.h"
#include "abi/verbs/objects.h"
#include "runtime/direct/data_path.h"

namespace softib::abi {

namespace {

Srq* make_srq(ibv_context* context, ibv_pd* pd, ibv_srq_attr& attr, ibv_srq_type type, Xrcd* xrcd,
              Cq* cq, void* user) {
    Context& c = impl(context);
    if (!c.process->self.usable()) {
        return fail<Srq>(EIO);
    }
    auto* srq = new (std::nothrow) Srq{};
    if (srq == nullptr || !srq->share.take(*c.process, c.hca, shm::ObjectKind::kSrq)) {
        delete srq;
        return fail<Srq>(ENOMEM);
    }
    srq->event_id = Registry::get().add(srq);
    direct::Srq::Init init;
    init.max_wr = attr.max_wr;
    init.max_sge = attr.max_sge;
    init.pd = protection(pd).id;
    init.hca = c.hca;
    init.xrcd = xrcd != nullptr ? xrcd->id : 0;
    init.cq = cq != nullptr ? cq->runtime : nullptr;
    init.async_channel = c.async_channel;
    init.cookie = srq->event_id;
    srq->runtime = c.path.make_srq(*c.process, init);
    if (srq->runtime == nullptr) {
        const int saved = errno;
        Registry::get().remove(srq->event_id);
        delete srq;
        return fail<Srq>(saved);
    }
    srq->base.context = context;
    srq->base.srq_context = user;
    srq->base.pd = pd;
    srq->base.handle = srq->runtime->index();
    pthread_mutex_init(&srq->base.mutex, nullptr);
    pthread_cond_init(&srq->base.cond, nullptr);
    srq->type = type;
    srq->pd = &impl(pd);
    srq->cq = cq;
    srq->xrcd = xrcd;
    srq->pd->uses.add();
    if (cq != nullptr) {
        cq->uses.add();
    }
    if (xrcd != nullptr) {
        xrcd->uses.add();
    }
    return srq;
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attr) {
    const ibv_srq_type type =
        (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? attr->srq_type : IBV_SRQT_BASIC;
    const bool has_pd = (attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) != 0 && attr->pd != nullptr;
    if (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC) {
        return fail<ibv_srq>(EOPNOTSUPP);
    }
    const bool xrc = type == IBV_SRQT_XRC;
    if (!has_pd || (xrc && ((attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 ||
                            (attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 ||
                            attr->xrcd == nullptr || attr->cq == nullptr))) {
        return fail<ibv_srq>(EINVAL);
    }
    Srq* srq = make_srq(context, attr->pd, attr->attr, type, xrc ? &impl(attr->xrcd) : nullptr,
                        xrc ? &impl(attr->cq) : nullptr, attr->srq_context);
    return srq != nullptr ? &srq->base : nullptr;
}

int get_srq_num(ibv_srq* base, std::uint32_t* number) {
    if (impl(base).type != IBV_SRQT_XRC) {
        return EINVAL;
    }
    *number = impl(base).runtime->srqn();
    return 0;
}

int post_srq_recv(ibv_srq* base, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    direct::Srq& srq = *impl(base).runtime;
    int error = 0;
    srq.lock();
    for (; wr != nullptr && error == 0; wr = wr->next) {
        error = srq.post_locked(wr->wr_id, sges_of(wr->sg_list),
                                static_cast<std::uint32_t>(wr->num_sge));
        if (error != 0) {
            *bad = wr;
            break;
        }
    }
    srq.unlock_and_wake();
    return error;
}

/// A bit in the id of an XRC domain that processes can share; domains of one process lack it.
constexpr std::uint32_t kSharedXrcd = 0x80000000;

/// Returns the id of the XRC domain of a file. Processes that open the same file share the domain,
/// so the id is computed from the file.
std::uint32_t shared_xrcd(const struct stat& st) {
    std::uint64_t h = st.st_ino * 0x9E3779B97F4A7C15 ^ st.st_dev * 0xC2B2AE3D27D4EB4F;
    h ^= h >> 29;
    return static_cast<std::uint32_t>(h) | kSharedXrcd;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attr) {
    constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    if ((attr->comp_mask & kNeeded) != kNeeded || (attr->oflags & ~(O_CREAT | O_EXCL)) != 0) {
        return fail<ibv_xrcd>(EINVAL);
    }
    struct stat st{};
    if (attr->fd >= 0 && fstat(attr->fd, &st) != 0) {
        return nullptr;
    }
    auto* xrcd = new (std::nothrow) Xrcd{};
    if (xrcd == nullptr) {
        return fail<ibv_xrcd>(ENOMEM);
    }
    xrcd->base.context = context;
    xrcd->id = attr->fd >= 0 ? shared_xrcd(st) : impl(context).process->tables.take_domain();
    if (xrcd->id == 0) {
        delete xrcd;
        return fail<ibv_xrcd>(ENOMEM);
    }
    return &xrcd->base;
}

int close_xrcd(ibv_xrcd* base) {
    if (impl(base).uses.any()) {
        return answer(EBUSY);
    }
    if ((impl(base).id & kSharedXrcd) == 0) {
        impl(base->context).process->tables.release_domain(impl(base).id);
    }
    delete &impl(base);
    return 0;
}

}  // namespace

void set_srq_ops(verbs_context& ops, const shm::Arena& arena, PathOps& path) {
    direct::with_data_path(arena, [&]<typename Path>(Path) {
        path.make_srq = direct::Srq::create<typename Path::SharedReceiveQueue>;
    });
    ops.create_srq_ex = create_srq_ex;
    ops.get_srq_num = get_srq_num;
    ops.open_xrcd = open_xrcd;
    ops.close_xrcd = close_xrcd;
    ops.context.ops.post_srq_recv = post_srq_recv;
}

}  // namespace softib::abi

using namespace softib;
using namespace softib::abi;

extern "C" {

ibv_srq* softib_ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) noexcept {
    Srq* srq =
        make_srq(pd->context, pd, attr->attr, IBV_SRQT_BASIC, nullptr, nullptr, attr->srq_context);
    return srq != nullptr ? &srq->base : nullptr;
}

int softib_ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) noexcept {
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) {
        return answer(EINVAL);
    }
    return answer(impl(srq).runtime->modify((mask & IBV_SRQ_MAX_WR) != 0, attr->max_wr,
                                            (mask & IBV_SRQ_LIMIT) != 0, attr->srq_limit));
}

int softib_ibv_query_srq(ibv_srq* base, ibv_srq_attr* attr) noexcept {
    const shm::SrqShared& shared = impl(base).runtime->shared();
    attr->max_wr = shared.ring.entries;
    attr->max_sge = shared.ring.sges_max;
    attr->srq_limit = shared.limit.load();
    return 0;
}

int softib_ibv_destroy_srq(ibv_srq* base) noexcept {
    Srq& srq = impl(base);
    if (srq.uses.any()) {
        return answer(EBUSY);
    }
    Registry::get().remove(srq.event_id);
    wait_acknowledged(base->mutex, base->cond, base->events_completed, srq.events_delivered);
    srq.runtime->destroy();
    srq.pd->uses.drop();
    if (srq.cq != nullptr) {
        srq.cq->uses.drop();
    }
    if (srq.xrcd != nullptr) {
        srq.xrcd->uses.drop();
    }
    pthread_mutex_destroy(&base->mutex);
    pthread_cond_destroy(&base->cond);
    delete &srq;
    return 0;
}

}  // extern "C"
