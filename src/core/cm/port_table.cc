// SPDX-License-Identifier: BSD-2-Clause
#include "core/cm/port_table.h"

#include <algorithm>
#include <cerrno>

#include "core/cm/address.h"

namespace softib::cm {

namespace {

// The range of port numbers for endpoints that chose none, as Linux has it for sockets.
constexpr std::uint16_t kEphemeralFirst = 32768;
constexpr std::uint16_t kEphemeralCount = 28232;

bool overlap(const PortTable::Holder& a, const PortTable::Holder& b) {
    if (a.address.family != b.address.family && a.af_only && b.af_only) {
        return false;
    }
    return is_any(a.address) || is_any(b.address) || same_host(a.address, b.address);
}

}  // namespace

int PortTable::bind(PortSpace space, const Holder& holder, std::uint16_t& port) {
    port = port_of(holder.address);
    if (port == 0) {
        const auto start = static_cast<std::uint16_t>(prng_.below(kEphemeralCount));
        for (std::uint32_t i = 0; i < kEphemeralCount; ++i) {
            const auto candidate =
                static_cast<std::uint16_t>(kEphemeralFirst + (start + i) % kEphemeralCount);
            if (!ports_.contains({space, candidate})) {
                port = candidate;
                break;
            }
        }
        if (port == 0) {
            return EADDRINUSE;
        }
    }
    std::vector<Holder>& holders = ports_[{space, port}];
    for (const Holder& other : holders) {
        const bool shared = other.reuse && holder.reuse && !other.listens;
        if (!shared && overlap(other, holder)) {
            return EADDRINUSE;
        }
    }
    holders.push_back(holder);
    return 0;
}

int PortTable::listen(PortSpace space, std::uint16_t port, IdHandle id) {
    std::vector<Holder>& holders = ports_[{space, port}];
    const auto own = std::ranges::find(holders, id, &Holder::id);
    for (const Holder& other : holders) {
        if (other.id != id && other.listens && overlap(other, *own)) {
            return EADDRINUSE;
        }
    }
    own->listens = true;
    return 0;
}

void PortTable::release(PortSpace space, std::uint16_t port, IdHandle id) {
    const auto found = ports_.find({space, port});
    if (found == ports_.end()) {
        return;
    }
    std::erase_if(found->second, [id](const Holder& holder) { return holder.id == id; });
    if (found->second.empty()) {
        ports_.erase(found);
    }
}

const std::vector<PortTable::Holder>& PortTable::holders(PortSpace space,
                                                         std::uint16_t port) const {
    static const std::vector<Holder> kNone;
    const auto found = ports_.find({space, port});
    return found == ports_.end() ? kNone : found->second;
}

}  // namespace softib::cm
