// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/path_finder.h"

#include "core/wire/sm/sl_to_vl_mapping_table.h"

namespace softib::sm {

namespace {

constexpr std::uint8_t kRateUnknown = 2;  // Code of the lowest rate, for a port without a link.

/// Returns whether a node drops packets of the service level from port `in` to port `out`.
bool drops(const SubnetNode& node, std::uint8_t in, std::uint8_t out, std::uint8_t sl) {
    return out < node.sl2vl.size() && in < node.sl2vl[out].size() &&
           node.sl2vl[out][in].vl[sl] == wire::kVlDrop;
}

/// Returns the MTU or rate to put into a record for a path that has `actual`; std::nullopt if the
/// request excludes it. For "less than", a smaller value than the path's is a valid answer.
std::optional<std::uint8_t> promise(const Wish& wish, std::uint8_t actual) {
    if (!wish.given || wish.selector != wire::Selector::kLessThan) {
        return wish.allows(actual) ? std::optional(actual) : std::nullopt;
    }
    return wish.realize(actual);
}

}  // namespace

PathEnd path_end(const Subnet& subnet, EndPort port) {
    const wire::PortInfo& info = subnet.port(port).info;
    return {port, gid_of(subnet, port), info.lid, static_cast<std::uint16_t>(1U << info.lmc)};
}

namespace {

/// The codes of the least MTU and rate on a path.
struct PathFacts {
    std::uint8_t mtu = 0;
    std::uint8_t rate = 0;
};

/// A packet that goes step by step from a port to a LID.
class Walk {
  public:
    Walk(const Subnet& subnet, EndPort from, EndPort to, Lid dlid, std::uint8_t sl)
        : subnet_(subnet), to_(to), dlid_(dlid), sl_(sl), at_(from.node) {
        const SubnetPort& start = subnet.port(from);
        const SubnetNode& node = subnet.node(from.node);
        if (same(from, to)) {
            facts_ = {mtu_of(start.info), rate_of(start.info)};
            state_ = kArrived;
        } else if (node.is_switch()) {
            facts_ = {wire::mtu_code::k4096, 0};
        } else if (start.peer == kNoNode || drops(node, 0, from.port, sl)) {
            state_ = kLost;
        } else {
            facts_ = {mtu_of(start.info), rate_of(start.info)};
            at_ = start.peer;
            in_ = start.peer_port;
        }
    }

    bool going() const { return state_ == kGoing; }
    std::optional<PathFacts> facts() const {
        if (state_ != kArrived) {
            return std::nullopt;
        }
        return PathFacts{facts_.mtu, facts_.rate == 0 ? kRateUnknown : facts_.rate};
    }

    void step() {
        const SubnetNode& node = subnet_.node(at_);
        if (at_ == to_.node && (node.is_switch() || in_ == to_.port)) {
            state_ = kArrived;
            return;
        }
        const std::uint8_t out = node.is_switch() ? subnet_.forward(at_, dlid_) : kLftNoPath;
        // Port 0 is the switch itself, which is not the destination here.
        if (out == 0 || out >= node.ports.size() || node.ports[out].peer == kNoNode ||
            drops(node, in_, out, sl_) || ++hops_ > kHopsMax) {
            state_ = kLost;
            return;
        }
        const SubnetPort& port = node.ports[out];
        const std::uint8_t rate = rate_of(port.info);
        facts_.mtu = std::min(facts_.mtu, mtu_of(port.info));
        facts_.rate = facts_.rate == 0 ? rate : lesser(Quantity::kRate, facts_.rate, rate);
        at_ = port.peer;
        in_ = port.peer_port;
    }

  private:
    enum State : std::uint8_t { kGoing, kArrived, kLost };

    const Subnet& subnet_;
    EndPort to_;
    Lid dlid_;
    std::uint8_t sl_;
    State state_ = kGoing;
    std::uint8_t in_ = 0;
    NodeIndex at_;
    std::size_t hops_ = 0;
    PathFacts facts_;
};

}  // namespace

/// Returns whether both ends have LIDs and the requester may see both (IBA vol. 1, 15.4.1.1).
bool PathFinder::may_meet(const PathEnd& source, const PathEnd& target) const {
    return source.first != kLidUnassigned && target.first != kLidUnassigned &&
           may_see(query_, source.port) && may_see(query_, target.port);
}

std::optional<PKey> PathFinder::pkey_of(const PathWanted& wanted, const PathEnd& source,
                                        const PathEnd& target) const {
    const std::span<const PKey> from = pkeys_of(query_.subnet, source.port);
    const std::span<const PKey> to = pkeys_of(query_.subnet, target.port);
    const bool loopback = same(source.port, target.port);
    for (const PKey key : from) {
        if ((key.value & 0x7FFF) == 0 ||
            (wanted.pkey && ((wanted.pkey->value ^ key.value) & 0x7FFF) != 0)) {
            continue;
        }
        if (loopback ||
            std::ranges::any_of(to, [key](PKey other) { return matches(key, other); })) {
            return wanted.pkey ? *wanted.pkey : key;
        }
    }
    return std::nullopt;
}

std::optional<wire::PathRecord> PathFinder::path(const PathWanted& wanted, const PathEnd& source,
                                                 Lid slid, const PathEnd& target, Lid dlid,
                                                 PKey pkey) const {
    const std::uint8_t asked = wanted.sl.value_or(std::uint8_t{0});
    const std::uint8_t sl = settings_.sl ? settings_.sl(slid, dlid, asked) : asked;
    if (wanted.sl && *wanted.sl != sl) {
        return std::nullopt;
    }
    // Follows the path there, and back on the same service level. Steps alternate, since each waits
    // for memory and two can wait at the same time.
    Walk there(query_.subnet, source.port, target.port, dlid, sl);
    Walk back(query_.subnet, target.port, source.port, slid, sl);
    while (there.going() || back.going()) {
        if (there.going()) {
            there.step();
        }
        if (back.going()) {
            back.step();
        }
    }
    const std::optional<PathFacts> facts = there.facts();
    if (!facts) {
        return std::nullopt;
    }
    const bool reversible = back.facts().has_value();
    const bool loopback = same(source.port, target.port);
    const std::uint8_t life_time = loopback ? std::uint8_t{0} : settings_.packet_life_time;
    // A path can always be used with a smaller MTU, so an exact MTU need not be that of the path;
    // an exact rate must be.
    const auto mtu = wanted.mtu.given && wanted.mtu.selector == wire::Selector::kExactly
                         ? wanted.mtu.realize(facts->mtu)
                         : promise(wanted.mtu, facts->mtu);
    const auto rate = promise(wanted.rate, facts->rate);
    if (!mtu || !rate || !wanted.life_time.allows(life_time) ||
        (wanted.reversible && !reversible)) {
        return std::nullopt;
    }
    return wire::PathRecord{.service_id = wanted.service_id,
                            .dgid = target.gid,
                            .sgid = source.gid,
                            .dlid = dlid,
                            .slid = slid,
                            .flow_label = wanted.flow_label,
                            .tclass = wanted.tclass,
                            .reversible = reversible,
                            .pkey = pkey,
                            .sl = sl,
                            .mtu = *mtu,
                            .rate = *rate,
                            .packet_life_time = life_time};
}

}  // namespace softib::sm
