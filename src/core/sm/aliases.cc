// SPDX-License-Identifier: BSD-2-Clause
// Writes the alias GUIDs that the SA gave to ports into the ports, and again when a port comes back
// without them.
#include <algorithm>

#include "core/sm/manager.h"
#include "core/sm/set_request.h"
#include "core/wire/sm/guid_info.h"

namespace softib::sm {

namespace {

constexpr std::size_t kGuidBlock = 8;

}  // namespace

void Manager::set_aliases(std::map<Guid, std::vector<Guid>> aliases, std::uint64_t now_ns) {
    aliases_ = std::move(aliases);
    aliases_changed_ = true;
    advance(now_ns);
}

void Manager::setup_aliases() {
    aliases_changed_ = false;
    subnet_.for_each_end_port([&](EndPort end) { setup_aliases(end); });
}

/// Writes the blocks of GUIDInfo that differ from those that the port has.
void Manager::setup_aliases(EndPort end) {
    SubnetPort& port = subnet_.port(end);
    const auto found = aliases_.find(port.guid);
    if (port.info.port_state == wire::PortState::kInit) {
        port.guids.clear();  // The link has come up anew, perhaps because the HCA was restarted.
    }
    if (found == aliases_.end() && port.guids.empty()) {
        return;
    }
    const std::size_t entries = port.info.guid_cap;
    std::vector<Guid> wanted = found == aliases_.end() ? std::vector<Guid>{} : found->second;
    wanted.resize((entries + kGuidBlock - 1) / kGuidBlock * kGuidBlock);
    const bool known = port.guids.size() == wanted.size();
    port.guids.resize(wanted.size());
    for (std::size_t first = 0; first < wanted.size(); first += kGuidBlock) {
        const auto from = wanted.begin() + static_cast<std::ptrdiff_t>(first);
        const auto before = port.guids.begin() + static_cast<std::ptrdiff_t>(first);
        if (known && std::equal(from, from + kGuidBlock, before)) {
            continue;
        }
        std::copy_n(from, kGuidBlock, before);
        wire::GuidInfo block;
        std::copy_n(from, kGuidBlock, block.guid.begin());
        if (first == 0) {
            block.guid[0] = port.guid;
        }
        const auto number = static_cast<std::uint32_t>(first / kGuidBlock);
        queue(set_request({Purpose::kSetGuids, end.port, end.node, number},
                          subnet_.node(end.node).path, wire::SmAttribute::kGuidInfo, number,
                          block));
    }
}

}  // namespace softib::sm
