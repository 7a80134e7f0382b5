// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/lane_requests.h"

#include <algorithm>

#include "core/sm/set_request.h"

namespace softib::sm {

void set_lane_fields(const QosConfig& config, std::uint8_t peer_vl_cap, wire::PortInfo& info) {
    info.operational_vls = std::min({info.vl_cap, peer_vl_cap, config.max_op_vls});
    if (config.on) {
        info.vl_high_limit = config.high_limit;
    }
}

wire::SlToVlMappingTable lane_table(const QosConfig& config, std::uint8_t data_vls) {
    return config.on && config.sl2vl ? fold(*config.sl2vl, data_vls) : spread(data_vls);
}

void list_arbitration_requests(const QosConfig& config, std::uint8_t port, std::uint8_t data_vls,
                               const wire::PortInfo& info,
                               std::vector<wire::VlArbitrationTable>& written,
                               std::vector<SmpRequest>& requests) {
    constexpr std::size_t kHalf = kArbitrationMax / 2;
    if (data_vls < 2) {
        return;
    }
    const std::size_t low = info.vl_arbitration_low_cap;
    const std::size_t high = info.vl_arbitration_high_cap;
    const std::array<bool, kArbitrationBlocks> exists{low > 0, low > kHalf, high > 0, high > kHalf};
    const auto wanted = arbitration_blocks(config, data_vls, info.vl_arbitration_low_cap,
                                           info.vl_arbitration_high_cap);
    for (std::size_t block = 0; block < wanted.size(); ++block) {
        if (!exists[block] || (block < written.size() && written[block] == wanted[block])) {
            continue;
        }
        requests.push_back(set_request({}, {}, wire::SmAttribute::kVlArbitrationTable,
                                       static_cast<std::uint32_t>((block + 1) << 16 | port),
                                       wanted[block]));
    }
    written.assign(wanted.begin(), wanted.end());
}

}  // namespace softib::sm
