// SPDX-License-Identifier: BSD-2-Clause
// SLtoVLMappingTableRecord and VLArbitrationTableRecord (IBA vol. 1, 15.2.5.4 and 15.2.5.9).
#include "core/sm/sa/fabric_records.h"
#include "core/wire/sa/sl_to_vl_mapping_table_record.h"
#include "core/wire/sa/vl_arbitration_table_record.h"

namespace softib::sm {

namespace {

std::uint8_t data_vls_of(const SubnetPort& port) {
    constexpr std::uint8_t kVls[] = {1, 1, 2, 4, 8, 15};
    const std::uint8_t code = port.info.vl_cap;
    return code < std::size(kVls) ? kVls[code] : std::uint8_t{15};
}

/// Returns the SL2VL table as written; if none was, SL modulo the number of VLs, as at power-up.
wire::SlToVlMappingTable sl_to_vl_of(const SubnetNode& node, std::uint8_t out, std::uint8_t in) {
    if (out < node.sl2vl.size() && in < node.sl2vl[out].size()) {
        return node.sl2vl[out][in];
    }
    wire::SlToVlMappingTable table;
    for (std::size_t sl = 0; sl < table.vl.size(); ++sl) {
        table.vl[sl] = static_cast<std::uint8_t>(sl % data_vls_of(node.ports[out]));
    }
    return table;
}

}  // namespace

SaStatus query_sl_to_vl_records(const SaQuery& query, SaTable& table) {
    using Record = wire::SlToVlMappingTableRecord;
    constexpr std::uint64_t kLid = wire::component(&Record::lid);
    constexpr std::uint64_t kIn = wire::component(&Record::input_port_num);
    constexpr std::uint64_t kOut = wire::component(&Record::output_port_num);
    const auto asked = query.record<Record>();
    const auto add = [&](EndPort end, std::uint8_t in, std::uint8_t out) {
        table.add(
            Record{.lid = base_lid(query.subnet, end),
                   .input_port_num = PortNum{in},
                   .output_port_num = PortNum{out},
                   .sl_to_vl_mapping_table = sl_to_vl_of(query.subnet.node(end.node), out, in)});
    };
    for_each_asked(query, query.has(kLid), asked.lid, [&](EndPort end) {
        const SubnetNode& node = query.subnet.node(end.node);
        if (table.full() || !may_see(query, end)) {
            return;
        }
        if (!node.is_switch()) {
            add(end, 0, end.port);  // The LID names the port, and an HCA has no in ports.
            return;
        }
        for (std::size_t out = 0; out < node.ports.size(); ++out) {
            if (query.has(kOut) && asked.output_port_num.value != out) {
                continue;
            }
            for (std::size_t in = 0; in < node.ports.size(); ++in) {
                if (!query.has(kIn) || asked.input_port_num.value == in) {
                    add(end, static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(out));
                }
            }
        }
    });
    return wire::mad_status::kOk;
}

SaStatus query_vl_arbitration_records(const SaQuery& query, SaTable& table) {
    using Record = wire::VlArbitrationTableRecord;
    constexpr std::uint64_t kLid = wire::component(&Record::lid);
    constexpr std::uint64_t kPort = wire::component(&Record::output_port_num);
    constexpr std::uint64_t kBlock = wire::component(&Record::block_num);
    constexpr std::uint8_t kBlocks = 4;  // Two blocks of the low list and two of the high list.
    const auto asked = query.record<Record>();
    const auto look_at = [&](EndPort end, std::uint8_t port) {
        const bool is_switch = query.subnet.node(end.node).is_switch();
        if (is_switch && query.has(kPort) && asked.output_port_num.value != port) {
            return;
        }
        const std::vector<wire::VlArbitrationTable>& written =
            query.subnet.port({end.node, port}).vl_arbitration;
        for (std::uint8_t block = 1; block <= kBlocks; ++block) {
            if (query.has(kBlock) && asked.block_num != block) {
                continue;
            }
            Record record{.lid = base_lid(query.subnet, end),
                          .output_port_num = PortNum{port},
                          .block_num = block};
            if (block <= written.size()) {
                record.vl_arbitration_table = written[block - 1U];
            }
            table.add(record);
        }
    };
    for_each_asked(query, query.has(kLid), asked.lid, [&](EndPort end) {
        if (!table.full() && may_see(query, end)) {
            for_each_port_of(query.subnet, end, [&](std::uint8_t port) { look_at(end, port); });
        }
    });
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
