// SPDX-License-Identifier: BSD-2-Clause
// SwitchInfoRecord (IBA vol. 1, 15.2.5.5) and the forwarding tables as they were written (15.2.5.6,
// 15.2.5.8).
#include "core/sm/sa/fabric_records.h"
#include "core/wire/sa/linear_forwarding_table_record.h"
#include "core/wire/sa/multicast_forwarding_table_record.h"
#include "core/wire/sa/switch_info_record.h"

namespace softib::sm {

namespace {

/// Calls fn(node, its base LID) for the switches that the requester asked for and may see.
void for_each_switch(const SaQuery& query, bool has_lid, Lid lid, const SaTable& table,
                     const auto& fn) {
    for_each_asked(query, has_lid, lid, [&](EndPort end) {
        const SubnetNode& node = query.subnet.node(end.node);
        if (!table.full() && node.is_switch() && may_see(query, end)) {
            fn(node, base_lid(query.subnet, end));
        }
    });
}

/// Returns the number of MFT blocks up to the last entry that is in use.
std::size_t mft_blocks_of(const SubnetNode& node) {
    for (std::size_t entry = node.mft.size(); entry-- > 0;) {
        if (std::ranges::any_of(node.mft[entry], [](std::uint16_t mask) { return mask != 0; })) {
            return entry / wire::kMftBlockMlids + 1;
        }
    }
    return 0;
}

}  // namespace

SaStatus query_switch_info_records(const SaQuery& query, SaTable& table) {
    using wire::SwitchInfoRecord;
    constexpr std::uint64_t kLid = wire::component(&SwitchInfoRecord::lid);
    const auto asked = query.record<SwitchInfoRecord>();
    for_each_switch(query, query.has(kLid), asked.lid, table, [&](const SubnetNode& node, Lid lid) {
        const SwitchInfoRecord record{.lid = lid, .switch_info = node.switch_info};
        if (wire::matches(asked, record, query.components & ~kLid)) {
            table.add(record);
        }
    });
    return wire::mad_status::kOk;
}

SaStatus query_linear_table_records(const SaQuery& query, SaTable& table) {
    using Record = wire::LinearForwardingTableRecord;
    constexpr std::uint64_t kLid = wire::component(&Record::lid);
    constexpr std::uint64_t kBlock = wire::component(&Record::block_num);
    const auto asked = query.record<Record>();
    for_each_switch(query, query.has(kLid), asked.lid, table, [&](const SubnetNode& node, Lid lid) {
        const std::size_t entries =
            std::min<std::size_t>(node.lft.size(), node.switch_info.linear_fdb_top + 1U);
        const std::size_t blocks = (entries + wire::kLftBlockLids - 1) / wire::kLftBlockLids;
        const std::size_t first = query.has(kBlock) ? asked.block_num : 0;
        const std::size_t end = query.has(kBlock) ? std::min(blocks, first + 1) : blocks;
        for (std::size_t block = first; block < end; ++block) {
            Record record{.lid = lid, .block_num = static_cast<std::uint16_t>(block)};
            auto& ports = record.linear_forwarding_table.port;
            ports.fill(wire::kLftNoPort);
            const std::size_t begin = block * wire::kLftBlockLids;
            std::copy_n(node.lft.begin() + static_cast<std::ptrdiff_t>(begin),
                        std::min(ports.size(), node.lft.size() - begin), ports.begin());
            table.add(record);
        }
    });
    return wire::mad_status::kOk;
}

SaStatus query_multicast_table_records(const SaQuery& query, SaTable& table) {
    using Record = wire::MulticastForwardingTableRecord;
    constexpr std::uint64_t kLid = wire::component(&Record::lid);
    constexpr std::uint64_t kPosition = wire::component(&Record::position);
    constexpr std::uint64_t kBlock = wire::component(&Record::block_num);
    const auto asked = query.record<Record>();
    const auto add_block = [&](const SubnetNode& node, Lid lid, std::size_t block,
                               std::size_t position) {
        Record record{.lid = lid,
                      .position = static_cast<std::uint8_t>(position),
                      .block_num = static_cast<std::uint16_t>(block)};
        auto& masks = record.multicast_forwarding_table.port_mask;
        for (std::size_t i = 0; i < masks.size(); ++i) {
            const std::size_t entry = block * wire::kMftBlockMlids + i;
            masks[i] = entry < node.mft.size() ? node.mft[entry][position] : std::uint16_t{0};
        }
        table.add(record);
    };
    for_each_switch(query, query.has(kLid), asked.lid, table, [&](const SubnetNode& node, Lid lid) {
        const std::size_t blocks = mft_blocks_of(node);
        const std::size_t positions = (node.ports.size() - 1) / wire::kMftPositionPorts + 1;
        for (std::size_t block = 0; block < blocks; ++block) {
            for (std::size_t position = 0; position < positions; ++position) {
                if ((!query.has(kBlock) || asked.block_num == block) &&
                    (!query.has(kPosition) || asked.position == position)) {
                    add_block(node, lid, block, position);
                }
            }
        }
    });
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
