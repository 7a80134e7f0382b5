// SPDX-License-Identifier: BSD-2-Clause
// The wr_* builders of extended queue pairs. Requests are collected from wr_start on and are posted
// together by wr_complete, so that wr_abort has nothing to undo.
#include <cerrno>
#include <cstring>
#include <vector>

#include "abi/verbs/objects.h"
#include "abi/verbs/record.h"
#include "runtime/direct/data_path.h"

namespace softib::abi {

namespace {

Qp::Building& begin(ibv_qp_ex* base, hca::WrOpcode opcode) {
    Qp& qp = impl(base);
    qp.building.push_back({});
    Qp::Building& b = qp.building.back();
    b.wr.wr_id = base->wr_id;
    b.wr.flags =
        static_cast<std::uint8_t>(base->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE));
    b.wr.opcode = opcode;
    b.sge_first = qp.building_sges.size();
    return b;
}

void wr_start(ibv_qp_ex* base) {
    Qp& qp = impl(base);
    qp.runtime->lock();
    qp.building.clear();
    qp.building_sges.clear();
    qp.building_data.clear();
    qp.building_error = 0;
}

template <direct::QpKind Kind>
int wr_complete(ibv_qp_ex* base) {
    Qp& qp = impl(base);
    auto& runtime = static_cast<Kind&>(*qp.runtime);
    int error = qp.building_error;
    std::uint32_t ahead = 0;
    for (Qp::Building& b : qp.building) {
        if (error != 0) {
            break;
        }
        hca::Sge* sges = qp.building_sges.data() + b.sge_first;
        if (b.inline_data) {
            // Addresses of inline data are offsets until here, because the buffer was growing.
            for (std::uint32_t i = 0; i < b.wr.num_sge; ++i) {
                sges[i].addr += reinterpret_cast<std::uint64_t>(qp.building_data.data());
            }
            b.wr.flags |= hca::kSendInline;
        }
        b.wr.sges = sges;
        if (b.wr.opcode == hca::WrOpcode::kBindMw) {
            b.wr.bind = &b.bind;
        }
        error = runtime.check_post_locked(b.wr, ahead++);
    }
    // Either all requests are posted or none: none is posted before all have been checked.
    for (std::size_t i = 0; i < qp.building.size() && error == 0; ++i) {
        error = runtime.post_locked(qp.building[i].wr);
    }
    runtime.unlock();
    return error;
}

/// wr_complete for a program that is recorded.
template <direct::QpKind Kind>
int wr_complete_recorded(ibv_qp_ex* base) {
    Qp& qp = impl(base);
    struct Request {
        hca::WrOpcode opcode;
        std::uint64_t bytes;
        std::uint32_t remote_qpn;
    };
    std::vector<Request> requests;
    for (const Qp::Building& b : qp.building) {
        std::uint64_t bytes = 0;
        for (std::uint32_t i = 0; i < b.wr.num_sge; ++i) {
            bytes += qp.building_sges[b.sge_first + i].length;
        }
        requests.push_back({b.wr.opcode, bytes, b.wr.remote_qpn});
    }
    const record::Moment at = record::now();
    const int error = wr_complete<Kind>(base);
    const std::uint32_t peer = qp.runtime->attributes().dest_qpn;
    const bool datagrams = qp.runtime->init().type == hca::QpType::kUd;
    for (const Request& each : requests) {
        if (error == 0) {
            record::posted(at, static_cast<ibv_wr_opcode>(each.opcode), each.bytes,
                           qp.runtime->qpn(), datagrams ? each.remote_qpn : peer);
        }
    }
    return error;
}

void wr_abort(ibv_qp_ex* base) {
    impl(base).runtime->unlock();
}

void wr_rdma(ibv_qp_ex* base, hca::WrOpcode opcode, std::uint32_t rkey, std::uint64_t addr) {
    Qp::Building& b = begin(base, opcode);
    b.wr.rkey = rkey;
    b.wr.remote_addr = addr;
}

void wr_rdma_read(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t addr) {
    wr_rdma(base, hca::WrOpcode::kRead, rkey, addr);
}

void wr_rdma_write(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t addr) {
    wr_rdma(base, hca::WrOpcode::kWrite, rkey, addr);
}

void wr_rdma_write_imm(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t addr, __be32 imm) {
    wr_rdma(base, hca::WrOpcode::kWriteImm, rkey, addr);
    impl(base).building.back().wr.imm_or_rkey = imm;
}

void wr_atomic_cmp_swp(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t addr,
                       std::uint64_t compare, std::uint64_t swap) {
    wr_rdma(base, hca::WrOpcode::kCompareSwap, rkey, addr);
    impl(base).building.back().wr.compare_add = compare;
    impl(base).building.back().wr.swap = swap;
}

void wr_atomic_fetch_add(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t addr,
                         std::uint64_t add) {
    wr_rdma(base, hca::WrOpcode::kFetchAdd, rkey, addr);
    impl(base).building.back().wr.compare_add = add;
}

void wr_bind_mw(ibv_qp_ex* base, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
    Qp::Building& b = begin(base, hca::WrOpcode::kBindMw);
    if (mw->type != IBV_MW_TYPE_2 || (info->mr == nullptr && info->length != 0)) {
        impl(base).building_error = EINVAL;
        return;
    }
    b.bind.mw_index = impl(mw).index;
    b.bind.mr_index = info->mr != nullptr ? impl(info->mr).index : 0;
    b.bind.new_rkey = impl(mw).index << 8 | (rkey & 0xFF);
    b.bind.access = info->mw_access_flags;
    b.bind.address = info->addr;
    b.bind.length = info->length;
}

void wr_local_inv(ibv_qp_ex* base, std::uint32_t rkey) {
    begin(base, hca::WrOpcode::kLocalInv).wr.imm_or_rkey = rkey;
}

void wr_send(ibv_qp_ex* base) {
    begin(base, hca::WrOpcode::kSend);
}
void wr_send_imm(ibv_qp_ex* base, __be32 imm) {
    begin(base, hca::WrOpcode::kSendImm).wr.imm_or_rkey = imm;
}
void wr_send_inv(ibv_qp_ex* base, std::uint32_t rkey) {
    begin(base, hca::WrOpcode::kSendInv).wr.imm_or_rkey = rkey;
}
void wr_send_tso(ibv_qp_ex* base, void*, std::uint16_t, std::uint16_t) {
    impl(base).building_error = EOPNOTSUPP;
}
void wr_atomic_write(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t addr,
                     const void* eight_bytes) {
    wr_rdma(base, hca::WrOpcode::kAtomicWrite, rkey, addr);
    Qp& qp = impl(base);
    qp.building_sges.push_back({qp.building_data.size(), 8, 0});
    const auto* from = static_cast<const char*>(eight_bytes);
    qp.building_data.insert(qp.building_data.end(), from, from + 8);
    qp.building.back().wr.num_sge = 1;
    qp.building.back().inline_data = true;
}
void wr_flush(ibv_qp_ex* base, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t,
              std::uint8_t) {
    impl(base).building_error = EOPNOTSUPP;
}

/// Returns the request that a setter applies to: the last one. Returns nullptr if there is none,
/// which is a mistake of the program and makes wr_complete fail.
Qp::Building* last(ibv_qp_ex* base) {
    Qp& qp = impl(base);
    if (qp.building.empty()) {
        if (qp.building_error == 0) {
            qp.building_error = EINVAL;
        }
        return nullptr;
    }
    return &qp.building.back();
}

void wr_set_ud_addr(ibv_qp_ex* base, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
    if (Qp::Building* b = last(base)) {
        b->wr.ah = &impl(ah).runtime;
        b->wr.remote_qpn = qpn;
        b->wr.remote_qkey = qkey;
    }
}

void wr_set_xrc_srqn(ibv_qp_ex* base, std::uint32_t srqn) {
    if (Qp::Building* b = last(base)) {
        b->wr.remote_srqn = srqn;
    }
}

void wr_set_sge_list(ibv_qp_ex* base, std::size_t count, const ibv_sge* list) {
    Qp& qp = impl(base);
    if (Qp::Building* b = last(base)) {
        if (count > hca::kSgesMax) {
            qp.building_error = ENOMEM;
            return;
        }
        const auto* sges = reinterpret_cast<const hca::Sge*>(list);
        qp.building_sges.resize(b->sge_first);
        qp.building_sges.insert(qp.building_sges.end(), sges, sges + count);
        b->wr.num_sge = static_cast<std::uint32_t>(count);
    }
}

void wr_set_sge(ibv_qp_ex* base, std::uint32_t lkey, std::uint64_t addr, std::uint32_t length) {
    const ibv_sge sge{addr, length, lkey};
    wr_set_sge_list(base, 1, &sge);
}

void wr_set_inline_data_list(ibv_qp_ex* base, std::size_t count, const ibv_data_buf* list) {
    Qp& qp = impl(base);
    if (Qp::Building* b = last(base)) {
        const std::size_t at = qp.building_data.size();
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < count; ++i) {
            bytes += list[i].length;
        }
        if (bytes > qp.init.cap.max_inline_data) {
            qp.building_error = ENOMEM;
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const auto* from = static_cast<const char*>(list[i].addr);
            qp.building_data.insert(qp.building_data.end(), from, from + list[i].length);
        }
        qp.building_sges.resize(b->sge_first);
        qp.building_sges.push_back({at, static_cast<std::uint32_t>(bytes), 0});
        b->wr.num_sge = 1;
        b->inline_data = true;
    }
}

void wr_set_inline_data(ibv_qp_ex* base, void* addr, std::size_t length) {
    const ibv_data_buf buf{addr, length};
    wr_set_inline_data_list(base, 1, &buf);
}

}  // namespace

void set_builder_ops(const shm::Arena& arena, PathOps& path) {
    direct::with_data_path(arena, [&]<typename Path>(Path) {
        using Kind = typename Path::QueuePair;
        path.wr_complete = record::wanted() ? wr_complete_recorded<Kind> : wr_complete<Kind>;
    });
}

void set_builders(Qp& qp, const PathOps& path) {
    ibv_qp_ex& q = qp.space.qp_ex;
    q.wr_start = wr_start;
    q.wr_complete = path.wr_complete;
    q.wr_abort = wr_abort;
    q.wr_rdma_read = wr_rdma_read;
    q.wr_rdma_write = wr_rdma_write;
    q.wr_rdma_write_imm = wr_rdma_write_imm;
    q.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    q.wr_atomic_fetch_add = wr_atomic_fetch_add;
    q.wr_bind_mw = wr_bind_mw;
    q.wr_local_inv = wr_local_inv;
    q.wr_send = wr_send;
    q.wr_send_imm = wr_send_imm;
    q.wr_send_inv = wr_send_inv;
    q.wr_send_tso = wr_send_tso;
    q.wr_set_ud_addr = wr_set_ud_addr;
    q.wr_set_xrc_srqn = wr_set_xrc_srqn;
    q.wr_set_inline_data = wr_set_inline_data;
    q.wr_set_inline_data_list = wr_set_inline_data_list;
    q.wr_set_sge = wr_set_sge;
    q.wr_set_sge_list = wr_set_sge_list;
    q.wr_atomic_write = wr_atomic_write;
    store_at(&qp.space, kQpExWrFlush, static_cast<WrFlush>(wr_flush));
}

}  // namespace softib::abi
