// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/subnet_admin.h"

#include <utility>

#include "core/sm/sa/fabric_records.h"
#include "core/wire/mad/class_port_info.h"
#include "core/wire/sa/sa.h"

namespace softib::sm {

namespace {

using wire::MadBytes;
using wire::Method;
using wire::SaAttribute;
namespace mad_status = wire::mad_status;

constexpr auto kReportResp = static_cast<Method>(0x86);
constexpr std::size_t kSubscribeOffset = wire::kSaDataOffset + 23;

/// Returns whether SubnAdm has this method, among those that need an answer (IBA vol. 1, 15.2.4).
bool is_known(Method method) {
    switch (method) {
        case Method::kGet:
        case Method::kSet:
        case Method::kGetTable:
        case Method::kGetTraceTable:
        case Method::kGetMulti:
        case Method::kDelete:
            return true;
        default:
            return false;
    }
}

/// Returns whether the answer is a table, which goes by RMPP.
bool is_table(Method method) {
    return method == Method::kGetTable || method == Method::kGetTraceTable ||
           method == Method::kGetMulti;
}

/// Returns the attribute of an answer's records, which for some methods is not that of the request
/// (IBA vol. 1, o15-0.2.7).
SaAttribute answer_to(const wire::MadRepr& request) {
    if (request.method == Method::kGetMulti) {
        return SaAttribute::kPathRecord;
    }
    return request.method == Method::kGetTraceTable
               ? SaAttribute::kTraceRecord
               : static_cast<SaAttribute>(request.attribute_id);
}

/// Writes the header of an answer: that of the request with the response method, without SM_Key.
void write_header(std::span<std::uint8_t> message, const wire::MadRepr& request, SaStatus result,
                  std::uint64_t components, std::uint16_t attribute_offset, bool by_rmpp) {
    MadBytes mad{};
    wire::MadRepr repr = request;
    repr.method = wire::response_to(request.method);
    repr.attribute_id = static_cast<std::uint16_t>(answer_to(request));
    repr.status = result;
    repr.emit(wire::Mad<std::uint8_t>(mad));
    const wire::Sa<std::uint8_t> sa(mad);
    if (by_rmpp) {
        sa.set_rmpp({.rmpp_version = wire::kRmppVersion,
                     .rmpp_type = wire::RmppType::kData,
                     .rmpp_flags = wire::rmpp_flag::kActive});
    }
    sa.set_header({.attribute_offset = attribute_offset, .component_mask = components});
    std::copy_n(mad.begin(), wire::kSaDataOffset, message.begin());
}

/// Returns an answer with a status and no records. It repeats the data of the request.
std::vector<std::uint8_t> refuse(std::span<const std::uint8_t> request, const wire::MadRepr& mad,
                                 SaStatus result, std::uint64_t components) {
    std::vector<std::uint8_t> message(wire::kMadBytes);
    std::copy_n(request.begin(), std::min(request.size(), message.size()), message.begin());
    write_header(message, mad, result, components, 0, false);
    return message;
}

wire::ClassPortInfo class_port_info() {
    constexpr std::uint32_t kIsSendOnlyFullMemberSupported = 1U << 12;
    constexpr std::uint8_t kResponseTime = 18;  // About 1 s.
    return {.base_version = wire::kMadBaseVersion,
            .class_version = wire::kSaClassVersion,
            .capability_mask = wire::sa_capability::kIsUDMulticastSupported |
                               wire::sa_capability::kIsMultiPathSupported |
                               wire::sa_capability::kIsPortInfoCapabilityMaskMatchSupported,
            .capability_mask2 = wire::sa_capability2::kIsMulticastFDBTopSupported |
                                wire::sa_capability2::kIsAdditionalGUIDSupported |
                                wire::sa_capability2::kIsFullPortInfoRecordSupported |
                                wire::sa_capability2::kIsExtendedSpeedsSupported |
                                wire::sa_capability2::kIsMulticastServiceRecordSupported |
                                wire::sa_capability2::kIsPortInfoCapabilityMask2MatchSupported |
                                kIsSendOnlyFullMemberSupported,
            .resp_time_value = kResponseTime,
            .redirect_qp = Qpn{1},
            .redirect_qkey = QKey{0x80010000},
            .trap_qkey = QKey{0x80010000}};
}

}  // namespace

SubnetAdmin::SubnetAdmin(const Subnet& subnet, SaConfig config)
    : subnet_(subnet),
      config_(std::move(config)),
      multicast_([this](const Gid& gid) { return port_of(gid); }, config_.multicast),
      services_(
          [this](Guid guid) {
              return find_port(subnet_, guids_, Gid::from(kSubnetPrefixDefault, guid));
          },
          config_.services),
      subscriptions_(config_.subscriptions),
      reports_(config_.reports),
      queue_(config_.queue) {}

std::optional<std::vector<std::uint8_t>> SubnetAdmin::handle(std::span<const std::uint8_t> request,
                                                             Lid slid, Qpn qp,
                                                             std::uint64_t now_ns) {
    MadBytes first{};
    std::copy_n(request.begin(), std::min(request.size(), first.size()), first.begin());
    const wire::MadRepr mad = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(first));
    const std::optional<EndPort> port = subnet_.by_lid(slid);
    if (request.size() < wire::kSaDataOffset || !port) {
        return std::nullopt;
    }
    if (mad.method == kReportResp) {
        reports_.handle_response(subnet_.port(*port).guid, mad.transaction_id);
    }
    if (!wire::wants_response(mad.method)) {
        return std::nullopt;
    }
    const wire::SaHeader header = wire::Sa<const std::uint8_t>(first).header();
    const std::uint64_t components = header.component_mask;
    if (mad.base_version != wire::kMadBaseVersion || mad.class_version != wire::kSaClassVersion) {
        return refuse(request, mad, mad_status::kUnsupportedClass, components);
    }
    // A request with an SM_Key is dropped unless the key is right (IBA vol. 1, C15-0.1.5).
    if (header.sm_key != 0 && header.sm_key != config_.sm_key) {
        return std::nullopt;
    }
    if (!is_known(mad.method)) {
        return refuse(request, mad, mad_status::kUnsupportedMethod, components);
    }
    const SaQuery query{.subnet = subnet_,
                        .requester = {slid, qp, *port, header.sm_key != 0},
                        .method = mad.method,
                        .modifier = mad.attribute_modifier,
                        .components = components,
                        .data = request.subspan(wire::kSaDataOffset),
                        .now_ns = now_ns};
    const bool by_rmpp = is_table(mad.method);
    // For a single record, room for two is enough to see that there are too many.
    SaTable table(by_rmpp ? SIZE_MAX : 2, config_.table_bytes_max);
    SaStatus result = dispatch(query, static_cast<SaAttribute>(mad.attribute_id), table);
    if (result == mad_status::kOk && table.overflowed()) {
        result = wire::sa_status::kNoResources;
    } else if (result == mad_status::kOk && !by_rmpp && table.count() != 1) {
        result =
            table.count() == 0 ? wire::sa_status::kNoRecords : wire::sa_status::kTooManyRecords;
    }
    if (mad.method == Method::kSet || mad.method == Method::kDelete) {
        ++revision_;
        settle_groups(now_ns);
    }
    if (result != mad_status::kOk) {
        std::vector<std::uint8_t> message = refuse(request, mad, result, components);
        if (static_cast<SaAttribute>(mad.attribute_id) == SaAttribute::kInformInfo) {
            message[kSubscribeOffset] = 0;  // The port is not subscribed (IBA vol. 1, o13-13.1.1).
        }
        return message;
    }
    const std::uint16_t offset = table.attribute_offset();
    std::vector<std::uint8_t> message = table.take();
    if (!by_rmpp) {
        message.resize(wire::kMadBytes);
    }
    write_header(message, mad, mad_status::kOk, components, offset, by_rmpp);
    return message;
}

SaStatus SubnetAdmin::dispatch(const SaQuery& query, SaAttribute attribute, SaTable& table) {
    switch (attribute) {
        case SaAttribute::kMcMemberRecord:
            return handle_mc_member(query, table);
        case SaAttribute::kGuidInfoRecord:
            return handle_guids(query, table);
        case SaAttribute::kServiceRecord:
            return handle_services(query, table);
        case SaAttribute::kInformInfo:
            return query.method == Method::kSet ? subscriptions_.handle_set(query, table)
                                                : mad_status::kUnsupportedAttribute;
        default:
            break;
    }
    const PathContext paths{config_.paths, multicast_, guids_};
    switch (query.method) {
        case Method::kGet:
        case Method::kGetTable:
            return dispatch_get(query, attribute, table);
        case Method::kGetMulti:
            return attribute == SaAttribute::kMultiPathRecord
                       ? query_multi_path_records(query, paths, table)
                       : mad_status::kUnsupportedAttribute;
        case Method::kGetTraceTable:
            return attribute == SaAttribute::kTraceRecord || attribute == SaAttribute::kPathRecord
                       ? query_trace_records(query, paths, table)
                       : mad_status::kUnsupportedAttribute;
        default:
            return mad_status::kUnsupportedAttribute;
    }
}

SaStatus SubnetAdmin::dispatch_get(const SaQuery& query, SaAttribute attribute, SaTable& table) {
    switch (attribute) {
        case SaAttribute::kClassPortInfo:
            if (query.method != Method::kGet) {
                return mad_status::kUnsupportedAttribute;
            }
            table.add(class_port_info());
            return mad_status::kOk;
        case SaAttribute::kNodeRecord:
            return query_node_records(query, table);
        case SaAttribute::kPortInfoRecord:
            return query_port_info_records(query, table);
        case SaAttribute::kSlToVlMappingTableRecord:
            return query_sl_to_vl_records(query, table);
        case SaAttribute::kSwitchInfoRecord:
            return query_switch_info_records(query, table);
        case SaAttribute::kLinearForwardingTableRecord:
            return query_linear_table_records(query, table);
        case SaAttribute::kMulticastForwardingTableRecord:
            return query_multicast_table_records(query, table);
        case SaAttribute::kSmInfoRecord:
            return handle_managers(query, table);
        case SaAttribute::kLinkRecord:
            return query_link_records(query, table);
        case SaAttribute::kPKeyTableRecord:
            return query_pkey_table_records(query, table);
        case SaAttribute::kPathRecord:
            return query_path_records(query, {config_.paths, multicast_, guids_}, table);
        case SaAttribute::kVlArbitrationTableRecord:
            return query_vl_arbitration_records(query, table);
        case SaAttribute::kInformInfoRecord:
            return subscriptions_.handle_get(query, table);
        default:
            return mad_status::kUnsupportedAttribute;
    }
}

SaStatus SubnetAdmin::handle_guids(const SaQuery& query, SaTable& table) {
    switch (query.method) {
        case Method::kGet:
        case Method::kGetTable:
            return guids_.handle_get(query, table);
        case Method::kSet:
            return guids_.handle_set(query, table);
        case Method::kDelete:
            return guids_.handle_delete(query, table, [this](Guid alias) {
                return std::ranges::any_of(multicast_.groups(), [alias](const auto& entry) {
                    return std::ranges::any_of(entry.second.members, [alias](const auto& member) {
                        return member.first.interface_id() == alias;
                    });
                });
            });
        default:
            return mad_status::kUnsupportedAttribute;
    }
}

SaStatus SubnetAdmin::handle_services(const SaQuery& query, SaTable& table) {
    switch (query.method) {
        case Method::kGet:
        case Method::kGetTable:
            return services_.handle_get(query, table);
        case Method::kSet:
            return services_.handle_set(query, table);
        case Method::kDelete:
            return services_.handle_delete(query, table);
        default:
            return mad_status::kUnsupportedAttribute;
    }
}

SaStatus SubnetAdmin::handle_mc_member(const SaQuery& query, SaTable& table) {
    const auto asked = query.record<wire::McMemberRecord>();
    SaPort requester = port_of(query.requester.port);
    requester.trusted = query.requester.trusted;
    SaMulticast::Answer answer = std::unexpected(mad_status::kUnsupportedAttribute);
    switch (query.method) {
        case Method::kSet:
            answer = multicast_.handle_join(asked, query.components, requester);
            break;
        case Method::kDelete:
            answer = multicast_.handle_leave(asked, query.components, requester);
            break;
        case Method::kGet:
        case Method::kGetTable:
            return multicast_.query(asked, query.components, requester, [&](const auto& record) {
                table.add(record);
                return !table.full();
            });
        default:
            break;
    }
    if (!answer) {
        return answer.error();
    }
    table.add(*answer);
    return mad_status::kOk;
}

/// Answers SMInfoRecord queries, and never shows SM_Keys.
SaStatus SubnetAdmin::handle_managers(const SaQuery& query, SaTable& table) const {
    using wire::SmInfoRecord;
    constexpr std::uint64_t kLid = wire::component(&SmInfoRecord::lid);
    const auto asked = query.record<SmInfoRecord>();
    const std::optional<EndPort> at = subnet_.by_lid(asked.lid);
    for (SmInfoRecord record : managers_) {
        record.sm_info.sm_key = 0;
        const std::optional<EndPort> end = subnet_.by_lid(record.lid);
        if (wire::matches(asked, record, query.components & ~kLid) && end &&
            (!query.has(kLid) || (at && same(*at, *end))) && may_see(query, *end)) {
            table.add(record);
        }
    }
    return mad_status::kOk;
}

SaPort SubnetAdmin::port_of(EndPort end) const {
    const SubnetPort& port = subnet_.port(end);
    const std::span<const PKey> keys = pkeys_of(subnet_, end);
    return {.gid = gid_of(subnet_, end),
            .pkeys = std::vector<PKey>(keys.begin(), keys.end()),
            .mtu = mtu_of(port.info),
            .rate = rate_of(port.info)};
}

std::optional<SaPort> SubnetAdmin::port_of(const Gid& gid) const {
    const std::optional<EndPort> end = find_port(subnet_, guids_, gid);
    if (!end) {
        return std::nullopt;
    }
    SaPort port = port_of(*end);
    // The GID has the GUID that was asked for, perhaps an alias, with the prefix of the subnet.
    port.gid = Gid::from(subnet_.port(*end).info.gid_prefix, gid.interface_id());
    return port;
}

void SubnetAdmin::submit(std::vector<std::uint8_t> request, const SaPeer& from) {
    if (request.size() < wire::kSaDataOffset) {
        return;
    }
    MadBytes first{};
    std::copy_n(request.begin(), std::min(request.size(), first.size()), first.begin());
    const wire::MadRepr mad = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(first));
    SaRequestQueue::Request waiting{from, std::move(request)};
    if (queue_.push(std::move(waiting)) || !wire::wants_response(mad.method) ||
        refused_.size() >= config_.queue.requests_max) {
        return;
    }
    const std::uint64_t components = wire::Sa<const std::uint8_t>(first).header().component_mask;
    refused_.push_back({from, refuse(first, mad, mad_status::kBusy, components)});
}

std::optional<SaOutgoing> SubnetAdmin::poll_answer(std::uint64_t now_ns) {
    if (!refused_.empty()) {
        SaOutgoing answer = std::move(refused_.front());
        refused_.pop_front();
        return answer;
    }
    while (const auto request = queue_.pop()) {
        const SaPeer& from = request->from;
        if (auto answer = handle(request->message, from.lid, from.qp, now_ns)) {
            return SaOutgoing{from, std::move(*answer)};
        }
    }
    return std::nullopt;
}

std::vector<std::uint8_t> SubnetAdmin::busy_instead(std::span<const std::uint8_t> answer) {
    std::vector<std::uint8_t> message(wire::kMadBytes);
    std::copy_n(answer.begin(), std::min<std::size_t>(answer.size(), wire::kSaDataOffset),
                message.begin());
    MadBytes mad{};
    std::copy_n(message.begin(), wire::kSaDataOffset, mad.begin());
    wire::Mad<std::uint8_t>(mad).set_status(mad_status::kBusy);
    wire::Sa<std::uint8_t>(mad).set_rmpp({});
    return {mad.begin(), mad.end()};
}

}  // namespace softib::sm
