// SPDX-License-Identifier: BSD-2-Clause
// PortInfoRecord, of every port, also of switch ports that have no LID (IBA vol. 1, 15.2.5.3), and
// P_KeyTableRecord (15.2.5.11).
#include "core/sm/sa/fabric_records.h"
#include "core/wire/sa/p_key_table_record.h"
#include "core/wire/sa/port_info_record.h"

namespace softib::sm {

namespace {

using wire::PortInfo;
using wire::PortInfoRecord;

namespace pir {
constexpr std::uint64_t kLid = wire::component(&PortInfoRecord::endport_lid);
constexpr std::uint64_t kPortNum = wire::component(&PortInfoRecord::port_num);
constexpr std::uint64_t kOptions = wire::component(&PortInfoRecord::options);
constexpr std::uint64_t kCapabilityMask =
    wire::component(&PortInfoRecord::port_info, &PortInfo::capability_mask);
constexpr std::uint64_t kCapabilityMask2 =
    wire::component(&PortInfoRecord::port_info, &PortInfo::capability_mask2);
}  // namespace pir

/// The bit of Options by which a requester asks for extended speeds as they are.
constexpr std::uint8_t kFullPortInfo = 0x80;

/// Makes an extended speed look like QDR, for a requester that does not know extended speeds.
void hide_extended_speeds(PortInfo& info) {
    info.link_speed_active |= wire::link_speed::kQdr;
    info.link_speed_enabled |= wire::link_speed::kQdr;
    info.link_speed_supported |= wire::link_speed::kQdr;
}

bool capabilities_match(const PortInfo& asked, const PortInfo& info, std::uint64_t components) {
    const bool mask = (components & pir::kCapabilityMask) == 0 ||
                      (asked.capability_mask & ~info.capability_mask) == 0;
    const bool mask2 = (components & pir::kCapabilityMask2) == 0 ||
                       (asked.capability_mask2 & ~info.capability_mask2) == 0;
    return mask && mask2;
}

}  // namespace

SaStatus query_port_info_records(const SaQuery& query, SaTable& table) {
    const auto asked = query.record<PortInfoRecord>();
    const bool by_bits = (query.modifier & wire::kSaMatchCapabilityMaskBits) != 0;
    std::uint64_t components = query.components & ~(pir::kLid | pir::kOptions);
    if (by_bits) {
        components &= ~(pir::kCapabilityMask | pir::kCapabilityMask2);
    }
    const bool full = query.has(pir::kOptions) && (asked.options & kFullPortInfo) != 0;
    const auto look_at = [&](EndPort end, std::uint8_t port) {
        const SubnetPort& found = query.subnet.port({end.node, port});
        if (!found.known || (query.has(pir::kPortNum) && asked.port_num.value != port)) {
            return;
        }
        PortInfoRecord record{.endport_lid = base_lid(query.subnet, end),
                              .port_num = PortNum{port},
                              .options = query.has(pir::kOptions) ? asked.options : std::uint8_t{0},
                              .port_info = found.info};
        // The M_Key is cleared before the comparison, so that no requester can find it by guessing
        // (IBA vol. 1, 15.2.5.3).
        if (!query.requester.trusted) {
            record.port_info.mkey = 0;
        }
        if (!wire::matches(asked, record, components) ||
            (by_bits && !capabilities_match(asked.port_info, record.port_info, query.components))) {
            return;
        }
        const bool extended =
            found.info.link_speed_ext_active != 0 || found.info.link_speed_ext_active2 != 0;
        if (extended && !full) {
            hide_extended_speeds(record.port_info);
        }
        table.add(record);
    };
    for_each_asked(query, query.has(pir::kLid), asked.endport_lid, [&](EndPort end) {
        if (!table.full() && may_see(query, end)) {
            for_each_port_of(query.subnet, end, [&](std::uint8_t port) { look_at(end, port); });
        }
    });
    return wire::mad_status::kOk;
}

SaStatus query_pkey_table_records(const SaQuery& query, SaTable& table) {
    using wire::PKeyTableRecord;
    constexpr std::uint64_t kLid = wire::component(&PKeyTableRecord::lid);
    constexpr std::uint64_t kPort = wire::component(&PKeyTableRecord::port_num);
    constexpr std::uint64_t kBlock = wire::component(&PKeyTableRecord::block_num);
    // Only trusted requesters may read P_Key tables (IBA vol. 1, 15.4.1.2).
    if (!query.requester.trusted) {
        return wire::sa_status::kRequestInvalid;
    }
    const auto asked = query.record<PKeyTableRecord>();
    constexpr std::size_t kBlockKeys = 32;
    const auto look_at = [&](EndPort end, std::uint8_t port) {
        const bool is_switch = query.subnet.node(end.node).is_switch();
        // The LID of an HCA already names the port.
        if (is_switch && query.has(kPort) && asked.port_num.value != port) {
            return;
        }
        // External ports of switches keep no table of their own: they enforce their neighbour's.
        const std::span<const PKey> keys = pkeys_of(query.subnet, {end.node, port});
        const std::size_t blocks = (keys.size() + kBlockKeys - 1) / kBlockKeys;
        for (std::size_t block = 0; block < blocks; ++block) {
            if (query.has(kBlock) && asked.block_num != block) {
                continue;
            }
            PKeyTableRecord record{.lid = base_lid(query.subnet, end),
                                   .block_num = static_cast<std::uint16_t>(block),
                                   .port_num = PortNum{port}};
            const auto part = keys.subspan(block * kBlockKeys,
                                           std::min(kBlockKeys, keys.size() - block * kBlockKeys));
            std::ranges::copy(part, record.pkey_table.pkey.begin());
            table.add(record);
        }
    };
    for_each_asked(query, query.has(kLid), asked.lid, [&](EndPort end) {
        for_each_port_of(query.subnet, end, [&](std::uint8_t port) { look_at(end, port); });
    });
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
