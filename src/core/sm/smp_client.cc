// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/smp_client.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::sm {

namespace {

constexpr unsigned kSlotBits = 16;

}  // namespace

wire::MadBytes SmpClient::start(const SmpRequest& request, std::uint64_t mkey,
                                std::uint64_t now_ns) {
    SOFTIB_CHECK(has_room());
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.purpose = request.purpose;
    slot.deadline_ns = now_ns + limits_.timeout_ns;
    slot.tries_left = std::min(request.retries, limits_.retries);
    slot.busy = true;
    slot.use = (slot.use + 1) & 0xFFFF;
    slot.mad = {};
    const wire::Mad<std::uint8_t> header(slot.mad);
    header.set_base_version(wire::kMadBaseVersion);
    header.set_mgmt_class(wire::MgmtClass::kSubnDirectedRoute);
    header.set_class_version(wire::kSmpClassVersion);
    header.set_method(request.method);
    header.set_transaction_id(std::uint64_t{slot.use} << kSlotBits | index);
    header.set_attribute_id(static_cast<std::uint16_t>(request.attribute));
    header.set_attribute_modifier(request.modifier);
    const wire::Smp<std::uint8_t> smp(slot.mad);
    smp.set_hop_count(request.path.hops);
    smp.set_mkey(mkey);
    smp.set_dr_slid(kLidPermissive);
    smp.set_dr_dlid(kLidPermissive);
    std::copy_n(request.path.ports.begin(), request.path.hops + 1U, smp.initial_path().begin());
    std::ranges::copy(request.data, smp.data().begin());
    return slot.mad;
}

std::optional<SmpAnswer> SmpClient::handle(const wire::MadBytes& mad) {
    const wire::Mad<const std::uint8_t> header(mad);
    const std::uint64_t transaction = header.transaction_id() & UINT32_MAX;
    const auto index = static_cast<std::uint32_t>(transaction & ((1U << kSlotBits) - 1));
    if (header.method() != wire::Method::kGetResp || index >= slots_.size()) {
        return std::nullopt;
    }
    Slot& slot = slots_[index];
    const wire::Mad<const std::uint8_t> sent(slot.mad);
    if (!slot.busy || transaction >> kSlotBits != slot.use ||
        header.mgmt_class() != sent.mgmt_class() || header.attribute_id() != sent.attribute_id() ||
        header.attribute_modifier() != sent.attribute_modifier()) {
        return std::nullopt;
    }
    // An answer has the path of its request, so only a sender that knows the path can forge it.
    const wire::Smp<const std::uint8_t> smp(mad);
    const wire::Smp<const std::uint8_t> asked(slot.mad);
    if (!smp.direction() || smp.hop_count() != asked.hop_count() ||
        !std::ranges::equal(smp.initial_path(), asked.initial_path())) {
        return std::nullopt;
    }
    SmpAnswer answer;
    answer.purpose = slot.purpose;
    answer.status = smp.status();
    std::ranges::copy(smp.data(), answer.data.begin());
    slot.busy = false;
    free_.push_back(index);
    return answer;
}

void SmpClient::handle_timeout(std::uint64_t now_ns) {
    if (free_.size() == slots_.size()) {
        return;
    }
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (!slot.busy || slot.deadline_ns > now_ns) {
            continue;
        }
        if (slot.tries_left == 0) {
            SmpAnswer answer;
            answer.purpose = slot.purpose;
            answer.lost = true;
            lost_.push_back(answer);
            slot.busy = false;
            free_.push_back(i);
            continue;
        }
        --slot.tries_left;
        slot.deadline_ns = now_ns + limits_.timeout_ns;
        resend_.push_back(i);
    }
}

std::optional<wire::MadBytes> SmpClient::poll_resend() {
    while (!resend_.empty()) {
        const Slot& slot = slots_[resend_.front()];
        resend_.pop_front();
        if (slot.busy) {
            return slot.mad;
        }
    }
    return std::nullopt;
}

std::optional<SmpAnswer> SmpClient::poll_lost() {
    if (lost_.empty()) {
        return std::nullopt;
    }
    const SmpAnswer answer = lost_.front();
    lost_.pop_front();
    return answer;
}

std::uint64_t SmpClient::next_timeout_ns() const {
    std::uint64_t first = UINT64_MAX;
    if (free_.size() == slots_.size()) {
        return first;
    }
    for (const Slot& slot : slots_) {
        if (slot.busy) {
            first = std::min(first, slot.deadline_ns);
        }
    }
    return first;
}

void SmpClient::forget_all() {
    resend_.clear();
    lost_.clear();
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].busy) {
            slots_[i].busy = false;
            free_.push_back(i);
        }
    }
}

}  // namespace softib::sm
