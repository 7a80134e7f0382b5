// SPDX-License-Identifier: BSD-2-Clause
// LinkRecord: each cable has two records, one from either end (IBA vol. 1, 15.2.5.13).
#include "core/sm/sa/fabric_records.h"
#include "core/wire/sa/link_record.h"

namespace softib::sm {

SaStatus query_link_records(const SaQuery& query, SaTable& table) {
    using wire::LinkRecord;
    constexpr std::uint64_t kFromLid = wire::component(&LinkRecord::from_lid);
    constexpr std::uint64_t kToLid = wire::component(&LinkRecord::to_lid);
    const Subnet& subnet = query.subnet;
    const auto asked = query.record<LinkRecord>();
    const std::optional<EndPort> from = subnet.by_lid(asked.from_lid);
    const std::optional<EndPort> to = subnet.by_lid(asked.to_lid);

    const auto look_at = [&](EndPort near, EndPort far) {
        const EndPort near_end = end_port_of(subnet, near.node, near.port);
        const EndPort far_end = end_port_of(subnet, far.node, far.port);
        // The request may name a port by any of its 2^LMC LIDs.
        if ((query.has(kFromLid) && (!from || !same(*from, near_end))) ||
            (query.has(kToLid) && (!to || !same(*to, far_end)))) {
            return;
        }
        const LinkRecord record{.from_lid = base_lid(subnet, near_end),
                                .from_port = PortNum{near.port},
                                .to_port = PortNum{far.port},
                                .to_lid = base_lid(subnet, far_end)};
        if (wire::matches(asked, record, query.components & ~(kFromLid | kToLid)) &&
            may_see(query, near_end) && may_see(query, far_end)) {
            table.add(record);
        }
    };
    /// A search by ToLID alone starts from that end, since both ends know the cable.
    const bool from_far_end = query.has(kToLid) && !query.has(kFromLid);
    const auto look_from = [&](EndPort end) {
        if (table.full()) {
            return;
        }
        for_each_port_of(subnet, end, [&](std::uint8_t number) {
            const SubnetPort& port = subnet.port({end.node, number});
            if (number == 0 || port.peer == kNoNode || !subnet.node(port.peer).present) {
                return;
            }
            const EndPort here{end.node, number};
            const EndPort there{port.peer, port.peer_port};
            if (from_far_end) {
                look_at(there, here);
            } else {
                look_at(here, there);
            }
        });
    };
    for_each_asked(query, query.has(kFromLid) || from_far_end,
                   from_far_end ? asked.to_lid : asked.from_lid, look_from);
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
