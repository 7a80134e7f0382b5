// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs: creation, attributes, posting.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "abi/verbs/ah.h"
#include "abi/verbs/entry.h"
#include "abi/verbs/objects.h"
#include "abi/verbs/record.h"
#include "runtime/direct/data_path.h"

namespace softib::abi {

namespace {

static_assert(static_cast<int>(hca::WrOpcode::kSendInv) == IBV_WR_SEND_WITH_INV &&
              static_cast<int>(hca::WrOpcode::kLocalInv) == IBV_WR_LOCAL_INV &&
              static_cast<int>(hca::WrOpcode::kBindMw) == IBV_WR_BIND_MW &&
              static_cast<int>(hca::WrOpcode::kFetchAdd) == IBV_WR_ATOMIC_FETCH_AND_ADD &&
              static_cast<int>(hca::WrOpcode::kRead) == IBV_WR_RDMA_READ);
static_assert(static_cast<int>(hca::WcStatus::kRnrRetryExcErr) == IBV_WC_RNR_RETRY_EXC_ERR &&
              static_cast<int>(hca::WcStatus::kWrFlushErr) == IBV_WC_WR_FLUSH_ERR &&
              static_cast<int>(hca::WcStatus::kMwBindErr) == IBV_WC_MW_BIND_ERR &&
              static_cast<int>(hca::WcStatus::kRemInvReqErr) == IBV_WC_REM_INV_REQ_ERR);
static_assert(static_cast<int>(hca::WcOpcode::kRecvRdmaWithImm) == IBV_WC_RECV_RDMA_WITH_IMM &&
              static_cast<int>(hca::WcOpcode::kLocalInv) == IBV_WC_LOCAL_INV);
static_assert(static_cast<int>(hca::kSendInline) == IBV_SEND_INLINE &&
              static_cast<int>(hca::kSendSolicited) == IBV_SEND_SOLICITED &&
              static_cast<int>(hca::kSendSignaled) == IBV_SEND_SIGNALED);
static_assert(static_cast<int>(hca::AsyncKind::kQpLastWqeReached) ==
                  IBV_EVENT_QP_LAST_WQE_REACHED &&
              static_cast<int>(hca::AsyncKind::kGidChange) == IBV_EVENT_GID_CHANGE &&
              static_cast<int>(hca::AsyncKind::kCommEst) == IBV_EVENT_COMM_EST);
static_assert(static_cast<int>(hca::QpState::kErr) == IBV_QPS_ERR &&
              static_cast<int>(hca::QpState::kSqd) == IBV_QPS_SQD);
static_assert(hca::qp_attr::kDestQpn == IBV_QP_DEST_QPN && hca::qp_attr::kCap == IBV_QP_CAP &&
              hca::qp_attr::kRateLimit == IBV_QP_RATE_LIMIT &&
              hca::qp_attr::kAltPath == IBV_QP_ALT_PATH && hca::qp_attr::kSqPsn == IBV_QP_SQ_PSN &&
              hca::qp_attr::kTimeout == IBV_QP_TIMEOUT);

/// Converts a work request. Fills only the fields that its opcode and transport use, because every
/// request passes here, and is inlined into posting for the same reason.
[[gnu::always_inline]] inline int to_runtime(const ibv_send_wr& in, ibv_qp_type type,
                                             shm::WorkRequest& wr, shm::BindInfo& bind) {
    wr.wr_id = in.wr_id;
    wr.opcode = static_cast<hca::WrOpcode>(in.opcode);
    wr.flags = static_cast<std::uint8_t>(in.send_flags);
    wr.num_sge = static_cast<std::uint32_t>(in.num_sge);  // The queue refuses a negative number.
    wr.sges = sges_of(in.sg_list);
    wr.imm_or_rkey = in.imm_data;
    wr.bind = nullptr;
    if (type == IBV_QPT_UD) {
        wr.ah = in.wr.ud.ah != nullptr ? &impl(in.wr.ud.ah).runtime : nullptr;
        wr.remote_qpn = in.wr.ud.remote_qpn;
        wr.remote_qkey = in.wr.ud.remote_qkey;
        return 0;
    }
    wr.ah = nullptr;
    if (type == IBV_QPT_XRC_SEND) {
        wr.remote_srqn = in.qp_type.xrc.remote_srqn;
    }
    switch (in.opcode) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
        case IBV_WR_RDMA_READ:
        case IBV_WR_ATOMIC_WRITE:
            wr.remote_addr = in.wr.rdma.remote_addr;
            wr.rkey = in.wr.rdma.rkey;
            return 0;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            wr.remote_addr = in.wr.atomic.remote_addr;
            wr.rkey = in.wr.atomic.rkey;
            wr.compare_add = in.wr.atomic.compare_add;
            wr.swap = in.wr.atomic.swap;
            return 0;
        case IBV_WR_BIND_MW: {
            if (in.bind_mw.mw == nullptr || in.bind_mw.mw->type != IBV_MW_TYPE_2 ||
                (in.bind_mw.bind_info.mr == nullptr && in.bind_mw.bind_info.length != 0)) {
                return EINVAL;
            }
            bind.mw_index = impl(in.bind_mw.mw).index;
            bind.mr_index =
                in.bind_mw.bind_info.mr != nullptr ? impl(in.bind_mw.bind_info.mr).index : 0;
            // The program chooses the low byte of the new R_Key; the index stays.
            bind.new_rkey = bind.mw_index << 8 | (in.bind_mw.rkey & 0xFF);
            bind.access = in.bind_mw.bind_info.mw_access_flags;
            bind.address = in.bind_mw.bind_info.addr;
            bind.length = in.bind_mw.bind_info.length;
            wr.bind = &bind;
            wr.num_sge = 0;
            return 0;
        }
        case IBV_WR_LOCAL_INV:
            wr.num_sge = 0;
            return 0;
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM:
        case IBV_WR_SEND_WITH_INV:
            return 0;
        default:
            return EOPNOTSUPP;
    }
}

/// `Kind`: the kind of the fabric's queue pairs, here and below.
template <direct::QpKind Kind>
int post_send(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad) {
    auto& runtime = static_cast<Kind&>(*impl(base).runtime);
    int error = 0;
    runtime.lock();
    for (; wr != nullptr; wr = wr->next) {
        shm::WorkRequest request;
        shm::BindInfo bind;
        error = to_runtime(*wr, base->qp_type, request, bind);
        if (error == 0) {
            error = runtime.post_locked(request);
        }
        if (error != 0) [[unlikely]] {
            *bad = wr;
            break;
        }
    }
    runtime.unlock();
    return error;
}

/// post_send for a program that is recorded.
template <direct::QpKind Kind>
int post_send_recorded(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad) {
    const record::Moment at = record::now();
    ibv_send_wr* refused = nullptr;
    const int error = post_send<Kind>(base, wr, &refused);
    if (error != 0) {
        *bad = refused;
    }
    const std::uint32_t peer = impl(base).runtime->attributes().dest_qpn;
    for (; wr != refused; wr = wr->next) {
        std::uint64_t bytes = 0;
        for (int i = 0; i < wr->num_sge; ++i) {
            bytes += wr->sg_list[i].length;
        }
        record::posted(at, wr->opcode, bytes, base->qp_num,
                       base->qp_type == IBV_QPT_UD ? wr->wr.ud.remote_qpn : peer);
    }
    return error;
}

template <direct::QpKind Kind>
int post_recv(ibv_qp* base, ibv_recv_wr* wr, ibv_recv_wr** bad) {
    auto& runtime = static_cast<Kind&>(*impl(base).runtime);
    int error = 0;
    runtime.lock_receive();
    for (; wr != nullptr; wr = wr->next) {
        error = runtime.post_receive_locked(wr->wr_id, sges_of(wr->sg_list),
                                            static_cast<std::uint32_t>(wr->num_sge));
        if (error != 0) {
            *bad = wr;
            break;
        }
    }
    runtime.unlock_receive_and_wake();
    return error;
}

bool type_supported(ibv_qp_type type) {
    return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD ||
           type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

int check_create(const ibv_qp_init_attr_ex& attr) {
    constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                     IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if (!type_supported(attr.qp_type) || (attr.comp_mask & ~kKnown) != 0) {
        return EOPNOTSUPP;
    }
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 &&
        (attr.create_flags & ~static_cast<std::uint32_t>(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)) != 0) {
        return EOPNOTSUPP;
    }
    if (attr.qp_type == IBV_QPT_XRC_RECV) {
        return (attr.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && attr.xrcd != nullptr ? 0 : EINVAL;
    }
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr.pd == nullptr ||
        attr.send_cq == nullptr || (attr.qp_type != IBV_QPT_XRC_SEND && attr.recv_cq == nullptr)) {
        return EINVAL;
    }
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
        std::uint64_t allowed = 0;
        constexpr std::uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
        constexpr std::uint64_t kWrites =
            IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
        constexpr std::uint64_t kKeys =
            IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
        switch (attr.qp_type) {
            case IBV_QPT_UD:
                allowed = kSends;
                break;
            case IBV_QPT_UC:
                allowed = kSends | kWrites | kKeys;
                break;
            default:
                allowed = kSends | kWrites | kKeys | IBV_QP_EX_WITH_RDMA_READ |
                          IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
                          IBV_QP_EX_WITH_ATOMIC_WRITE;
        }
        if ((attr.send_ops_flags & ~allowed) != 0) {
            return EOPNOTSUPP;
        }
    }
    return 0;
}

direct::QpInit runtime_init(ibv_context* context, const ibv_qp_init_attr_ex& attr) {
    const Context& c = impl(context);
    direct::QpInit init;
    init.type = static_cast<hca::QpType>(attr.qp_type);
    const bool receives = attr.qp_type != IBV_QPT_XRC_SEND && attr.qp_type != IBV_QPT_XRC_RECV;
    init.send_cq = attr.send_cq != nullptr ? impl(attr.send_cq).runtime : nullptr;
    init.recv_cq = receives ? impl(attr.recv_cq).runtime : nullptr;
    init.srq = receives && attr.srq != nullptr ? impl(attr.srq).runtime : nullptr;
    init.max_send_wr = attr.cap.max_send_wr;
    init.max_recv_wr = init.srq == nullptr && receives ? attr.cap.max_recv_wr : 0;
    init.max_send_sge = attr.cap.max_send_sge;
    init.max_recv_sge = init.srq == nullptr && receives ? attr.cap.max_recv_sge : 0;
    init.max_inline = attr.cap.max_inline_data;
    init.signal_all = attr.sq_sig_all != 0;
    init.pd = attr.qp_type != IBV_QPT_XRC_RECV ? protection(attr.pd).id : 0;
    init.hca = c.hca;
    init.xrcd = (attr.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && attr.xrcd != nullptr
                    ? impl(attr.xrcd).id
                    : 0;
    init.async_channel = c.async_channel;
    return init;
}

void use(Qp& qp, int sign) {
    const auto apply = [sign](Uses& uses) { sign > 0 ? uses.add() : uses.drop(); };
    const ibv_qp& base = qp.space.qp_ex.qp_base;
    if (qp.pd != nullptr) {
        apply(qp.pd->uses);
    }
    if (qp.xrcd != nullptr) {
        apply(qp.xrcd->uses);
    }
    if (base.send_cq != nullptr) {
        apply(impl(base.send_cq).uses);
    }
    if (base.recv_cq != nullptr) {
        apply(impl(base.recv_cq).uses);
    }
    if (base.srq != nullptr) {
        apply(impl(base.srq).uses);
    }
}

void fill_public(Qp& qp, ibv_context* context, const ibv_qp_init_attr_ex& attr) {
    ibv_qp& base = qp.space.qp_ex.qp_base;
    const bool receives = attr.qp_type != IBV_QPT_XRC_SEND && attr.qp_type != IBV_QPT_XRC_RECV;
    base.context = context;
    base.qp_context = attr.qp_context;
    base.pd = attr.qp_type != IBV_QPT_XRC_RECV ? attr.pd : nullptr;
    base.send_cq = attr.qp_type != IBV_QPT_XRC_RECV ? attr.send_cq : nullptr;
    base.recv_cq = receives ? attr.recv_cq : nullptr;
    base.srq = receives ? attr.srq : nullptr;
    base.handle = qp.runtime->qpn();
    base.qp_num = qp.runtime->qpn();
    base.state = IBV_QPS_RESET;
    base.qp_type = attr.qp_type;
    pthread_mutex_init(&base.mutex, nullptr);
    pthread_cond_init(&base.cond, nullptr);
    std::memcpy(&qp.init, &attr, sizeof qp.init);  // `attr` begins with an ibv_qp_init_attr.
    qp.pd = base.pd != nullptr ? &impl(base.pd) : nullptr;
    qp.xrcd = (attr.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && attr.xrcd != nullptr
                  ? &impl(attr.xrcd)
                  : nullptr;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr) {
    Qp* qp = create_qp(context, *attr);
    return qp != nullptr ? &qp->space.qp_ex.qp_base : nullptr;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) {
    constexpr std::uint32_t kNeeded =
        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    if ((attr->comp_mask & kNeeded) != kNeeded || attr->qp_type != IBV_QPT_XRC_RECV) {
        return fail<ibv_qp>(EINVAL);
    }
    direct::Process& process = *impl(context).process;
    const shm::QpShared& shared = process.self.arena.qps[direct::qp_index(attr->qp_num)];
    if (shared.qpn != attr->qp_num || shared.owner != process.self.owner ||
        shared.type != hca::QpType::kXrcRecv || shared.xrcd != impl(attr->xrcd).id) {
        return fail<ibv_qp>(EINVAL);
    }
    auto* qp = new (std::nothrow) Qp{};
    if (qp == nullptr) {
        return fail<ibv_qp>(ENOMEM);
    }
    qp->runtime = reinterpret_cast<direct::QpBase*>(shared.cookie);
    qp->opened = true;
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_XRC_RECV;
    init.qp_context =
        (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0 ? attr->qp_context : nullptr;
    init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    init.xrcd = attr->xrcd;
    fill_public(*qp, context, init);
    use(*qp, 1);
    return &qp->space.qp_ex.qp_base;
}

hca::QpAttr to_runtime(const ibv_qp_attr& a) {
    hca::QpAttr out;
    out.state = static_cast<hca::QpState>(a.qp_state);
    out.path_mtu = static_cast<std::uint8_t>(a.path_mtu);
    out.path_mig_state = static_cast<std::uint8_t>(a.path_mig_state);
    out.qkey = a.qkey;
    out.rq_psn = a.rq_psn & 0xFFFFFF;
    out.sq_psn = a.sq_psn & 0xFFFFFF;
    out.dest_qpn = a.dest_qp_num;
    out.access = a.qp_access_flags;
    out.av = abi::to_runtime(a.ah_attr);
    out.av_port = a.ah_attr.port_num;
    out.av_static_rate = a.ah_attr.static_rate;
    out.alt_av = abi::to_runtime(a.alt_ah_attr);
    out.alt_port = a.alt_port_num;
    out.alt_pkey_index = a.alt_pkey_index;
    out.alt_timeout = a.alt_timeout;
    out.pkey_index = a.pkey_index;
    out.sq_async_notify = a.en_sqd_async_notify;
    out.max_rd_atomic = a.max_rd_atomic;
    out.max_dest_rd_atomic = a.max_dest_rd_atomic;
    out.min_rnr_timer = a.min_rnr_timer;
    out.port = a.port_num;
    out.timeout = a.timeout;
    out.retry_cnt = a.retry_cnt;
    out.rnr_retry = a.rnr_retry;
    return out;
}

void from_runtime(const hca::QpAttr& in, ibv_qp_attr& a) {
    std::memset(&a, 0, sizeof a);
    a.qp_state = static_cast<ibv_qp_state>(in.state);
    a.cur_qp_state = a.qp_state;
    a.path_mtu = static_cast<ibv_mtu>(in.path_mtu);
    a.path_mig_state = static_cast<ibv_mig_state>(in.path_mig_state);
    a.qkey = in.qkey;
    a.rq_psn = in.rq_psn;
    a.sq_psn = in.sq_psn;
    a.dest_qp_num = in.dest_qpn;
    a.qp_access_flags = in.access;
    a.ah_attr = abi::from_runtime(in.av, in.av_port, in.av_static_rate);
    a.alt_ah_attr = abi::from_runtime(in.alt_av, in.alt_port, 0);
    a.pkey_index = in.pkey_index;
    a.alt_pkey_index = in.alt_pkey_index;
    a.en_sqd_async_notify = in.sq_async_notify;
    a.max_rd_atomic = in.max_rd_atomic;
    a.max_dest_rd_atomic = in.max_dest_rd_atomic;
    a.min_rnr_timer = in.min_rnr_timer;
    a.port_num = in.port;
    a.timeout = in.timeout;
    a.retry_cnt = in.retry_cnt;
    a.rnr_retry = in.rnr_retry;
    a.alt_port_num = in.alt_port;
    a.alt_timeout = in.alt_timeout;
}

}  // namespace

Qp* create_qp(ibv_context* context, const ibv_qp_init_attr_ex& attr) {
    if (const int error = check_create(attr); error != 0) {
        return fail<Qp>(error);
    }
    if (!impl(context).process->self.usable()) {
        return fail<Qp>(EIO);
    }
    auto* qp = new (std::nothrow) Qp{};
    if (qp == nullptr ||
        !qp->share.take(*impl(context).process, impl(context).hca, shm::ObjectKind::kQp)) {
        delete qp;
        return fail<Qp>(ENOMEM);
    }
    direct::QpInit init = runtime_init(context, attr);
    qp->event_id = Registry::get().add(qp);
    init.event_id = qp->event_id;
    const PathOps& path = impl(context).path;
    qp->runtime = path.make_qp(*impl(context).process, init);
    if (qp->runtime == nullptr) {
        const int saved = errno;
        Registry::get().remove(qp->event_id);
        delete qp;
        return fail<Qp>(saved);
    }
    fill_public(*qp, context, attr);
    use(*qp, 1);
    qp->extended = (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    set_builders(*qp, path);
    if (record::wanted()) {
        record::created(qp->runtime->qpn());
    }
    return qp;
}

void set_qp_ops(verbs_context& ops, const shm::Arena& arena, PathOps& path) {
    ops.create_qp_ex = create_qp_ex;
    ops.open_qp = open_qp;
    direct::with_data_path(arena, [&]<typename Path>(Path) {
        using Kind = typename Path::QueuePair;
        ops.context.ops.post_send = record::wanted() ? post_send_recorded<Kind> : post_send<Kind>;
        ops.context.ops.post_recv = post_recv<Kind>;
        path.make_qp = direct::QpBase::create<Kind>;
    });
}

}  // namespace softib::abi

using namespace softib;
using namespace softib::abi;

extern "C" {

ibv_qp* softib_ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) noexcept {
    ibv_qp_init_attr_ex ex{};
    std::memcpy(&ex, attr, sizeof *attr);
    ex.comp_mask = IBV_QP_INIT_ATTR_PD;
    ex.pd = pd;
    if (attr->qp_type == IBV_QPT_XRC_SEND || attr->qp_type == IBV_QPT_XRC_RECV) {
        ex.recv_cq = nullptr;
        ex.srq = nullptr;
    }
    Qp* qp = create_qp(pd->context, ex);
    if (qp == nullptr) {
        return nullptr;
    }
    attr->cap.max_recv_wr = ex.srq != nullptr ? 0 : attr->cap.max_recv_wr;
    return &qp->space.qp_ex.qp_base;
}

ibv_qp_ex* softib_ibv_qp_to_qp_ex(ibv_qp* qp) noexcept {
    return impl(qp).extended ? &impl(qp).space.qp_ex : nullptr;
}

int softib_ibv_modify_qp(ibv_qp* base, ibv_qp_attr* attr, int mask) noexcept {
    const int error =
        impl(base).runtime->modify(to_runtime(*attr), static_cast<std::uint32_t>(mask));
    if (error == 0 && (mask & IBV_QP_STATE) != 0) {
        base->state = attr->qp_state;
    }
    return answer(error);
}

int softib_ibv_query_qp(ibv_qp* base, ibv_qp_attr* attr, int mask,
                        ibv_qp_init_attr* init) noexcept {
    Qp& qp = impl(base);
    from_runtime(qp.runtime->attributes(), *attr);
    if ((mask & IBV_QP_STATE) != 0) {
        base->state = attr->qp_state;
    }
    attr->cap = qp.init.cap;
    *init = qp.init;
    init->send_cq = base->send_cq;
    init->recv_cq = base->recv_cq;
    init->srq = base->srq;
    return 0;
}

int softib_ibv_destroy_qp(ibv_qp* base) noexcept {
    Qp& qp = impl(base);
    if (qp.attached_groups != 0) {
        return answer(EBUSY);
    }
    if (!qp.opened) {
        Registry::get().remove(qp.event_id);
        wait_acknowledged(base->mutex, base->cond, base->events_completed, qp.events_delivered);
        qp.runtime->destroy();
    }
    use(qp, -1);
    pthread_mutex_destroy(&base->mutex);
    pthread_cond_destroy(&base->cond);
    delete &qp;
    return 0;
}

int softib_ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode,
                                      std::uint32_t flags) noexcept {
    // Bytes, also those of READ responses, are written in the order of their addresses
    // (runtime/direct/memory/copy.h).
    const bool ordered = qp->qp_type == IBV_QPT_RC &&
                         (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_READ ||
                          opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
    if ((flags & kDataInOrderReturnCaps) != 0) {
        return ordered ? kDataInOrderWholeMsg | kDataInOrderAligned128Bytes : 0;
    }
    return ordered ? 1 : 0;
}

// Both answer as for a device whose vendor has no enhanced connection options (ECE).
int softib_ibv_set_ece(ibv_qp*, ibv_ece*) noexcept {
    return EOPNOTSUPP;
}
int softib_ibv_query_ece(ibv_qp*, ibv_ece*) noexcept {
    return EOPNOTSUPP;
}

}  // extern "C"
