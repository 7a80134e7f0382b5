// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/subnet_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/wire/mad/inform_info.h"
#include "core/wire/mad/notice.h"

namespace softib::sharp {

namespace {

using wire::SaAttribute;

template <wire::Attribute Record>
void append_records(std::span<const std::uint8_t> message, std::vector<Record>& records) {
    wire::MadBytes first{};
    std::copy_n(message.begin(), std::min(message.size(), first.size()), first.begin());
    const std::size_t distance =
        std::size_t{wire::Sa<const std::uint8_t>(first).header().attribute_offset} * 8;
    if (distance < Record::kBytes) {
        return;
    }
    for (std::size_t at = wire::kSaDataOffset; at + Record::kBytes <= message.size();
         at += distance) {
        records.push_back(wire::parse<Record>(message.subspan(at).first<Record::kBytes>()));
    }
}

}  // namespace

template <wire::Attribute Record>
void SubnetReader::ask(wire::Method method, SaAttribute attribute, const Record& record,
                       std::uint64_t components) {
    wire::MadBytes mad{};
    const wire::MadRepr header{.mgmt_class = wire::MgmtClass::kSubnAdm,
                               .class_version = wire::kSaClassVersion,
                               .method = method,
                               .attribute_id = static_cast<std::uint16_t>(attribute)};
    header.emit(wire::Mad<std::uint8_t>(mad));
    const wire::Sa<std::uint8_t> sa(mad);
    sa.set_header({.component_mask = components});
    wire::emit(record, std::span<std::uint8_t>(sa.data()));
    questions_.push_back(mad);
}

/// Subscribes to notices of what may change a tree: links that go up or down, ports that come and
/// go.
void SubnetReader::subscribe() {
    for (const std::uint16_t trap :
         {wire::trap::kLinkStateChanged, wire::trap::kGidInService, wire::trap::kGidOutOfService}) {
        wire::InformInfo info;
        info.lid_range_begin = Lid{wire::kInformAll};
        info.is_generic = 1;
        info.subscribe = 1;
        info.type = wire::kInformAll;
        info.trap_number = trap;
        info.qpn = mad::kQpnServices;
        info.producer_type = 0xFFFFFF;  // Any type of node.
        ask(wire::Method::kSet, SaAttribute::kInformInfo, info, 0);
    }
}

void SubnetReader::start(Lid sa) {
    sa_ = sa;
    questions_.clear();
    records_ = {};
    result_.reset();
    sent_ = false;
    tries_ = 0;
    if (sa == kLidUnassigned || sa > kLidUnicastMax) {
        fail("no subnet manager has told this port of itself");
        return;
    }
    subscribe();
    ask(wire::Method::kGetTable, SaAttribute::kNodeRecord, wire::NodeRecord{}, 0);
    ask(wire::Method::kGetTable, SaAttribute::kLinkRecord, wire::LinkRecord{}, 0);
}

std::optional<mad::Packet> SubnetReader::poll_transmit(std::uint64_t now_ns) {
    if (questions_.empty() || sent_) {
        return std::nullopt;
    }
    if (tries_ == 0) {  // A repeated question has the same TransactionID.
        transaction_ += transaction_ == UINT32_MAX ? 2U : 1U;
    }
    sent_ = true;
    sent_ns_ = now_ns;
    mad::Packet packet;
    packet.mad = questions_.front();
    wire::Mad<std::uint8_t>(packet.mad).set_transaction_id(transaction_);
    packet.dlid = sa_;
    packet.source = mad::kQpnServices;
    packet.destination = mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
    return packet;
}

std::uint64_t SubnetReader::next_timeout_ns() const {
    return sent_ ? sent_ns_ + config_.answer_timeout_ns : UINT64_MAX;
}

void SubnetReader::handle_timeout(std::uint64_t now_ns) {
    if (next_timeout_ns() > now_ns) {
        return;
    }
    sent_ = false;
    if (++tries_ >= config_.tries) {
        fail(fmt::format("the subnet administration at LID {} does not answer", sa_.value));
    }
}

void SubnetReader::handle(std::span<const std::uint8_t> message) {
    if (!sent_ || message.size() < wire::kSaDataOffset) {
        return;
    }
    wire::MadBytes first{};
    std::copy_n(message.begin(), std::min(message.size(), first.size()), first.begin());
    const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(first));
    const auto asked = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(questions_.front()));
    if (header.mgmt_class != asked.mgmt_class || header.method != wire::response_to(asked.method) ||
        header.attribute_id != asked.attribute_id ||
        static_cast<std::uint32_t>(header.transaction_id) != transaction_) {
        return;
    }
    const auto attribute = static_cast<SaAttribute>(header.attribute_id);
    // A refused subscription is no failure: changes are found a little later without it.
    if (attribute != SaAttribute::kInformInfo && header.status != wire::mad_status::kOk &&
        header.status != wire::sa_status::kNoRecords) {
        if (header.status != wire::mad_status::kBusy) {
            fail(
                fmt::format("the subnet administration at LID {} refuses attribute {:#06x} with "
                            "status {:#06x}",
                            sa_.value, header.attribute_id, header.status));
        }
        return;  // A busy SA is asked again after the timeout.
    }
    if (header.status == wire::mad_status::kOk) {
        take(attribute, message);
    }
    next();
}

void SubnetReader::take(SaAttribute attribute, std::span<const std::uint8_t> message) {
    using Table = wire::LinearForwardingTableRecord;
    switch (attribute) {
        case SaAttribute::kNodeRecord:
            append_records(message, records_.nodes);
            for (const std::uint16_t block : blocks_of_switches(records_.nodes)) {
                ask(wire::Method::kGetTable, SaAttribute::kLinearForwardingTableRecord,
                    Table{.block_num = block}, wire::component(&Table::block_num));
            }
            break;
        case SaAttribute::kLinkRecord:
            append_records(message, records_.links);
            break;
        case SaAttribute::kLinearForwardingTableRecord:
            append_records(message, records_.tables);
            break;
        default:
            break;
    }
}

void SubnetReader::next() {
    sent_ = false;
    tries_ = 0;
    questions_.pop_front();
    if (questions_.empty()) {
        result_ = join_records(std::exchange(records_, {}));
    }
}

void SubnetReader::fail(std::string reason) {
    questions_.clear();
    records_ = {};
    sent_ = false;
    result_ = std::unexpected(std::move(reason));
}

std::optional<SubnetReader::Result> SubnetReader::poll_result() {
    return std::exchange(result_, std::nullopt);
}

}  // namespace softib::sharp
