// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/send_queue.h"

#include <algorithm>
#include <bit>

namespace softib::hca {

SendQueue::SendQueue(const QpInit& init)
    : max_wr_(init.max_send_wr),
      sges_max_(std::max(init.max_send_sge, 1U)),
      inline_max_(init.max_inline),
      inline_room_(std::max(inline_max_, init.type == QpType::kUd ? 0 : kAtomicBytes)) {
    const std::uint32_t slots = std::bit_ceil(std::max(max_wr_, 1U));
    mask_ = slots - 1;
    wqes_.resize(slots);
    sges_.resize(std::size_t{slots} * sges_max_);
    inline_bytes_.resize(std::size_t{slots} * inline_room_);
    if (init.type == QpType::kUd) {
        addresses_.resize(slots);
    } else {
        binds_.resize(slots);
    }
}

PostError SendQueue::check(const WorkRequest& wr) const {
    const bool is_inline = (wr.flags & kSendInline) != 0;
    if (wr.sges.size() > sges_max_) {
        return PostError::kInvalid;
    }
    // The eight bytes of an ATOMIC WRITE are part of the request itself.
    const std::size_t inline_max =
        wr.opcode == WrOpcode::kAtomicWrite ? kAtomicBytes : std::size_t{inline_max_};
    if (is_inline && (wr.inline_data.size() > inline_max || fills_memory(wr.opcode))) {
        return PostError::kInvalid;
    }
    return tail_ - head_ >= max_wr_ ? PostError::kFull : PostError::kOk;
}

SendWqe& SendQueue::push(const WorkRequest& wr) {
    const std::size_t slot = tail_ & mask_;
    SendWqe& wqe = wqes_[slot];
    wqe = {};
    wqe.wr_id = wr.wr_id;
    wqe.opcode = wr.opcode;
    wqe.flags = wr.flags;
    wqe.imm_or_rkey = wr.imm_or_rkey;
    wqe.remote_addr = wr.remote_addr;
    wqe.rkey = wr.rkey;
    wqe.remote_srqn = wr.remote_srqn;
    wqe.compare_add = wr.compare_add;
    wqe.swap = wr.swap;
    std::uint64_t length = 0;
    if ((wr.flags & kSendInline) != 0) {
        length = wr.inline_data.size();
        std::ranges::copy(wr.inline_data,
                          inline_bytes_.begin() + static_cast<std::ptrdiff_t>(slot * inline_room_));
    } else {
        wqe.num_sge = static_cast<std::uint32_t>(wr.sges.size());
        std::ranges::copy(wr.sges, sges_.begin() + static_cast<std::ptrdiff_t>(slot * sges_max_));
        for (const Sge& sge : wr.sges) {
            length += sge.length;
        }
    }
    wqe.too_long = length > kMessageBytesMax;
    wqe.length = wqe.too_long ? 0 : static_cast<std::uint32_t>(length);
    if (!addresses_.empty()) {
        addresses_[slot] = {wr.av, Qpn{wr.remote_qpn}, QKey{wr.remote_qkey}};
    } else if (wr.opcode == WrOpcode::kBindMw) {
        binds_[slot] = wr.bind;
    }
    ++tail_;
    return wqe;
}

bool SendQueue::places_are_valid(const Context& context, Pd pd, std::uint32_t index,
                                 std::uint32_t access) const {
    return std::ranges::all_of(sges(index), [&](const Sge& sge) {
        return sge.length == 0 ||
               context.memory.local(sge.lkey, pd, sge.addr, sge.length, access).has_value();
    });
}

bool SendQueue::gather(const Context& context, Pd pd, std::uint32_t index, std::uint32_t offset,
                       std::uint32_t length, Payload& out) const {
    if ((at(index).flags & kSendInline) != 0) {
        if (length != 0) {
            out.add(&inline_bytes_[std::size_t{index & mask_} * inline_room_ + offset], length);
        }
        return true;
    }
    for (const Sge& sge : sges(index)) {
        if (length == 0) {
            break;
        }
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        const std::uint32_t n = std::min(length, sge.length - offset);
        const auto place = context.memory.local(sge.lkey, pd, sge.addr + offset, n, 0);
        if (!place) {
            return false;
        }
        const auto bytes = context.memory.read(*place, n);
        if (!bytes) {
            return false;
        }
        out.add(*bytes, n);
        length -= n;
        offset = 0;
    }
    return length == 0;
}

bool SendQueue::scatter(Context& context, Pd pd, std::uint32_t index, std::uint32_t offset,
                        const Payload& payload) const {
    return scatter_into(context, pd, sges(index), offset, payload) == Scattered::kAll;
}

namespace {

/// Splits a payload where an SGE or a part of the payload ends. Calls place(destination as an Sge,
/// source) for each stretch.
template <typename Fn>
Scattered for_each_stretch(std::span<const Sge> sges, std::uint32_t skip, const Payload& payload,
                           Fn&& place) {
    std::size_t s = 0;
    for (const PayloadPart& part : payload.parts()) {
        std::uint32_t done = 0;
        while (done != part.length) {
            while (s < sges.size() && skip >= sges[s].length) {
                skip -= sges[s++].length;
            }
            if (s == sges.size()) {
                return Scattered::kTooShort;
            }
            const std::uint32_t n = std::min(part.length - done, sges[s].length - skip);
            const Sge stretch{sges[s].addr + skip, n, sges[s].lkey};
            if (!place(stretch, part.bytes != nullptr ? part.bytes + done : nullptr)) {
                return Scattered::kNotAllowed;
            }
            done += n;
            skip += n;
        }
    }
    return Scattered::kAll;
}

}  // namespace

Scattered scatter_into(Context& context, Pd pd, std::span<const Sge> sges, std::uint32_t skip,
                       const Payload& payload) {
    const auto find = [&](const Sge& at) {
        return context.memory.local(at.lkey, pd, at.addr, at.length, kLocalWrite);
    };
    // All SGEs are checked before anything is written. A single SGE that is long enough for a
    // payload of one part is checked when it is written.
    const bool fits = sges.size() == 1 && sges[0].length >= std::uint64_t{skip} + payload.length();
    if (!fits || payload.parts().size() > 1) {
        const Scattered checked = for_each_stretch(
            sges, skip, payload,
            [&](const Sge& at, const std::uint8_t*) { return find(at).has_value(); });
        if (checked != Scattered::kAll) {
            return checked;
        }
    }
    return for_each_stretch(sges, skip, payload, [&](const Sge& at, const std::uint8_t* from) {
        const auto place = find(at);
        return place && context.memory.write(*place, from, at.length);
    });
}

void complete_send(QpCore& core, const SendWqe& wqe, WcStatus status) {
    if (status == WcStatus::kSuccess && (wqe.flags & kSendSignaled) == 0 && !core.init.signal_all) {
        return;
    }
    core.context.complete(core.init.send_cq,
                          {.wr_id = wqe.wr_id,
                           .qpn = core.qpn,
                           .status = status,
                           .opcode = completion_opcode(wqe.opcode),
                           .byte_len = wqe.length},
                          false);
}

}  // namespace softib::hca
