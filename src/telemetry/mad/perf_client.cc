// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/mad/perf_client.h"

#include <algorithm>
#include <concepts>

#include "core/wire/pm/pm.h"
#include "core/wire/pm/port_counters.h"
#include "core/wire/pm/port_counters_extended.h"
#include "core/wire/pm/port_rcv_con_ctrl.h"
#include "core/wire/pm/port_rcv_error_details.h"
#include "core/wire/pm/port_xmit_con_ctrl.h"
#include "core/wire/pm/port_xmit_discard_details.h"

namespace softib::telemetry {

namespace {

using wire::PmAttribute;

constexpr PmAttribute kAlways[] = {PmAttribute::kPortCountersExtended, PmAttribute::kPortCounters};
constexpr PmAttribute kDetails[] = {PmAttribute::kPortRcvErrorDetails,
                                    PmAttribute::kPortXmitDiscardDetails,
                                    PmAttribute::kPortRcvConCtrl, PmAttribute::kPortXmitConCtrl};

/// Adds the counters of one attribute to those of others. If several attributes have the same
/// counter, the largest value counts: narrow counters stop at their maximum, and an agent that does
/// not have a counter answers zero.
template <wire::Attribute T>
void add(PmAttribute attribute, const wire::MadBytes& mad, PortCounts& counts) {
    const auto answer = wire::parse<T>(wire::pm_data(mad));
    const auto visit = [&](const auto& field) {
        const auto& member = answer.*field.member;
        if constexpr (std::unsigned_integral<std::remove_cvref_t<decltype(member)>>) {
            for (const auto& row : counters::kPortCounters) {
                for (const counters::AttributeField& shown : row.fields) {
                    if (row.is_stored() && shown.attribute == attribute &&
                        shown.name == field.name) {
                        counts.*row.value = std::max<std::uint64_t>(counts.*row.value, member);
                    }
                }
            }
        }
    };
    wire::kFields<T>.apply([&](const auto&... field) { (visit(field), ...); });
}

}  // namespace

PerfClient::PerfClient(const Inventory& inventory, const Limits& limits, bool details)
    : inventory_(inventory),
      limits_(limits),
      slots_(limits.window),
      counts_(inventory.ports.size()),
      answered_(inventory.ports.size(), 0),
      heard_(inventory.ports.size()) {
    for (std::uint32_t i = 0; i < inventory.ports.size(); ++i) {
        for (const PmAttribute attribute : kAlways) {
            queue_.push_back({i, attribute});
        }
        for (const PmAttribute attribute : kDetails) {
            if (details) {
                queue_.push_back({i, attribute});
            }
        }
    }
}

mad::Packet PerfClient::packet_of(std::size_t index) const {
    const Slot& slot = slots_[index];
    mad::Packet packet;
    packet.dlid = inventory_.node_of(slot.question.port).lid;
    packet.source = mad::kQpnServices;
    packet.destination = mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
    const wire::Mad<std::uint8_t> header(packet.mad);
    header.set_base_version(wire::kMadBaseVersion);
    header.set_mgmt_class(wire::MgmtClass::kPerf);
    header.set_class_version(wire::kPmClassVersion);
    header.set_method(wire::Method::kGet);
    header.set_transaction_id(std::uint64_t{slot.use} << 16 | index);
    header.set_attribute_id(static_cast<std::uint16_t>(slot.question.attribute));
    // All these attributes begin with a reserved byte and PortSelect (IBA vol. 1, 16.1.3.5).
    wire::pm_data(packet.mad)[1] = inventory_.ports[slot.question.port].number;
    return packet;
}

std::optional<mad::Packet> PerfClient::poll_transmit(std::uint64_t now_ns) {
    while (!resend_.empty()) {
        const std::size_t index = resend_.front();
        resend_.pop_front();
        if (slots_[index].busy) {
            slots_[index].deadline_ns = now_ns + limits_.timeout_ns;
            return packet_of(index);
        }
    }
    if (queue_.empty()) {
        return std::nullopt;
    }
    const auto free = std::ranges::find(slots_, false, &Slot::busy);
    if (free == slots_.end()) {
        return std::nullopt;
    }
    free->question = queue_.front();
    queue_.pop_front();
    free->busy = true;
    ++free->use;
    free->tries_left = limits_.retries;
    free->deadline_ns = now_ns + limits_.timeout_ns;
    ++under_way_;
    return packet_of(static_cast<std::size_t>(free - slots_.begin()));
}

void PerfClient::handle(const mad::Packet& packet) {
    const wire::Mad<const std::uint8_t> header(packet.mad);
    const std::uint64_t transaction = header.transaction_id() & UINT32_MAX;
    const std::size_t index = transaction & 0xFFFF;
    if (index >= slots_.size() || header.method() != wire::Method::kGetResp) {
        return;
    }
    Slot& slot = slots_[index];
    if (!slot.busy || slot.use != transaction >> 16 ||
        header.attribute_id() != static_cast<std::uint16_t>(slot.question.attribute) ||
        packet.slid != inventory_.node_of(slot.question.port).lid) {
        return;
    }
    slot.busy = false;
    --under_way_;
    heard_[slot.question.port].push_back(slot.question.attribute);
    if (header.status() == wire::mad_status::kOk) {
        take(slot.question, packet.mad);
    }
}

void PerfClient::take(const Question& question, const wire::MadBytes& mad) {
    PortCounts& counts = counts_[question.port];
    answered_[question.port] = 1;
    switch (question.attribute) {
        case PmAttribute::kPortCounters:
            return add<wire::PortCounters>(question.attribute, mad, counts);
        case PmAttribute::kPortCountersExtended:
            return add<wire::PortCountersExtended>(question.attribute, mad, counts);
        case PmAttribute::kPortRcvErrorDetails:
            return add<wire::PortRcvErrorDetails>(question.attribute, mad, counts);
        case PmAttribute::kPortXmitDiscardDetails:
            return add<wire::PortXmitDiscardDetails>(question.attribute, mad, counts);
        case PmAttribute::kPortRcvConCtrl:
            return add<wire::PortRcvConCtrl>(question.attribute, mad, counts);
        case PmAttribute::kPortXmitConCtrl:
            return add<wire::PortXmitConCtrl>(question.attribute, mad, counts);
        default:
            return;
    }
}

/// Returns whether the agent of a port answered for all attributes that have a counter, so that a
/// count of zero means zero.
bool PerfClient::was_read(std::uint32_t port,
                          const counters::PortCounter<std::uint64_t>& row) const {
    return answered_[port] != 0 &&
           std::ranges::all_of(row.fields, [&](const counters::AttributeField& shown) {
               return shown.name.empty() ||
                      std::ranges::find(heard_[port], shown.attribute) != heard_[port].end();
           });
}

void PerfClient::update(std::vector<PortCounts>& counts) const {
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
        for (const auto& row : counters::kPortCounters) {
            if (row.is_stored() && (counts_[i].*row.value != 0 || was_read(i, row))) {
                counts[i].*row.value = counts_[i].*row.value;
            }
        }
    }
}

void PerfClient::handle_timeout(std::uint64_t now_ns) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (!slot.busy || slot.deadline_ns > now_ns) {
            continue;
        }
        if (slot.tries_left != 0) {
            --slot.tries_left;
            slot.deadline_ns = now_ns + limits_.timeout_ns;
            resend_.push_back(i);
            continue;
        }
        slot.busy = false;
        --under_way_;
        // If a port has not answered once, its other counters are not asked for.
        std::erase_if(queue_,
                      [&](const Question& left) { return left.port == slot.question.port; });
    }
}

std::uint64_t PerfClient::next_timeout_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const Slot& slot : slots_) {
        next = slot.busy ? std::min(next, slot.deadline_ns) : next;
    }
    return next;
}

}  // namespace softib::telemetry
