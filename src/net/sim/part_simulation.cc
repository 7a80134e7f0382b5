// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/part_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/check.h"
#include "net/manage/congestion_manager.h"
#include "net/manage/lane_manager.h"
#include "net/sim/routes.h"

namespace softib::net {

namespace {

/// What the hosts of one part tell those of another. It takes the place of the packet in a
/// Crossing.
struct MessageNote {
    enum class Kind : std::uint8_t { kOpens, kCloses, kNews };

    /// Tag of the message. In kNews: News::order, and above it News::received.
    std::uint64_t tag = 0;
    std::uint64_t bytes = 0;  ///< Bytes of the message. In kCloses: answers sent.
    std::uint32_t index = 0;  ///< The message's number at its sender.
    /// Connection of the message. In kNews: News::kind, and above it News::body.
    std::uint32_t connection = 0;
    std::uint16_t from = 0;  ///< LID of the sender.
    std::uint16_t to = 0;    ///< LID of the receiver.
    std::uint8_t sl = 0;
    Kind kind = Kind::kOpens;
};
static_assert(sizeof(MessageNote) == sizeof(Packet));

constexpr unsigned kNewsKindBits = 8;

Crossing crossing_of(const MessageNote& note, TimePs at) {
    return {.at = at, .link = kNone, .packet = std::bit_cast<Packet>(note)};
}

std::unexpected<topo::Error> refuse_parts(std::string_view why) {
    return std::unexpected(topo::Error{fmt::format(
        "one simulation cannot run on several threads or processes {}; leave --threads and mpirun "
        "out",
        why)});
}

std::expected<void, topo::Error> check_parts(const SimulationOptions& options) {
    if (options.roce) {
        return refuse_parts("over Ethernet");
    }
    if (options.hosts.ack_bytes == 0) {
        return refuse_parts("without acknowledgements");
    }
    if (options.plant.cable_ps == 0) {
        return refuse_parts("with cables that take no time (--cable 0)");
    }
    return {};
}

}  // namespace

std::expected<PartedFabric, topo::Error> PartedFabric::make(topo::Fabric fabric,
                                                            const SimulationOptions& options,
                                                            std::uint32_t parts) {
    if (auto checked = check_parts(options); !checked) {
        return std::unexpected(checked.error());
    }
    if (auto checked = check_options(options); !checked) {
        return std::unexpected(checked.error());
    }
    auto start = route_at_start(std::move(fabric), options);
    if (!start) {
        return std::unexpected(start.error());
    }
    if (start->routed.subnets() > 1) {
        return refuse_parts("over several subnets");
    }
    for (const topo::Host& host : start->routed.topology.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            const topo::Node& node = start->routed.topology.node(hca);
            if (node.ports.size() < 2 || node.ports[1].peer == topo::kNoNode) {
                return refuse_parts(
                    fmt::format("where a host has no cable, as {} has none", node.name));
            }
        }
    }
    PartedFabric parted{.start = *std::move(start), .options = options, .parts = parts};
    parted.options.plant.data_vls = parted.start.data_vls;
    parted.options.hosts.news_ps = options.plant.cable_ps;
    parted.part_of = assign_parts(parted.start.routed.topology, parts);
    return parted;
}

PartSimulation::PartSimulation(const PartedFabric& whole, std::uint32_t part, Exchange& exchange)
    : whole_(whole),
      number_(part),
      exchange_(exchange),
      part_(whole.start.routed.topology, whole.part_of, part),
      hosts_(whole.options.hosts),
      net_(part_.fabric(), part_.config(whole.options.plant), hosts_),
      control_(plan_changes(whole.options.failures, whole.options.repair_ps),
               {.options = {.data_vls = whole.options.plant.data_vls,
                            .adaptive = whole.options.hosts.adaptive,
                            .misses_choice = whole.options.hosts.adaptive},
                .engines = {whole.start.routed.tables.engine},
                .notes = whole.start.notes},
               net_.engine().plant().port_count()) {
    if (control_.has_changes()) {
        damaged_ = whole.start.routed.topology;
    }
    add_ends();
    configure();
}

void PartSimulation::add_ends() {
    std::vector<MessageHosts::Home> homes;
    end_of_port_.assign(net_.engine().plant().port_count(), kNone);
    for (const topo::Host& host : routed().topology.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            const std::uint32_t here = part_.local(hca.value);
            const Lid lid = routed().lids[hca.value];
            end_of_lid_.resize(std::max<std::size_t>(end_of_lid_.size(), lid.value + 1U), kNone);
            homes.resize(end_of_lid_.size());
            end_of_lid_[lid.value] = end_count();
            ends_.push_back({.node = hca.value,
                             .part = whole_.part_of[hca.value],
                             .port = here == kNone ? kNone : net_.engine().plant().port_of(here, 1),
                             .lid = lid});
            if (here != kNone) {
                end_of_port_[ends_.back().port] = end_of_lid_[lid.value];
            }
            homes[lid.value] = {ends_.back().part, port_at(end_of_lid_[lid.value])};
        }
    }
    hosts_.join_parts(std::move(homes), number_, whole_.parts, end_count());
    for (const topo::Node& node : routed().topology.nodes) {
        const bool is_switch = node.kind == topo::NodeKind::kSwitch;
        ports_of_all_ += node.ports.size() - (is_switch ? 0 : 1);
    }
}

void PartSimulation::configure() {
    const SimulationOptions& options = whole_.options;
    net_.engine().border().crossings().resize(whole_.parts);
    part_.prepare(net_.engine());
    write_routes();
    if (options.congestion) {
        manage_congestion(
            net_.engine().plant(), routed().topology, *options.congestion,
            [&](std::uint32_t node) { return part_.local(node); },
            [&](std::uint32_t port, const link::InjectionControl& control) {
                hosts_.control_congestion(port, control);
            });
    }
    write_qos();
    net_.engine().use_windows();
    for (const End& end : ends_) {
        if (options.hosts.pcie_block_ps != 0 && end.port != kNone) {
            net_.engine().ports().set_slow(end.port, options.hosts.pcie_block_ps);
        }
    }
}

void PartSimulation::write_qos() {
    if (whole_.options.qos.on) {
        manage_lanes(net_.engine(), routed().topology, whole_.options.qos,
                     routes_need_lanes(routed().tables),
                     [&](std::uint32_t node) { return part_.local(node); });
    }
}

void PartSimulation::write_routes() {
    paths_.emplace(routed());
    part_.write_routes(net_.engine().plant(), routed().graph, routed().tables);
    if (whole_.options.hosts.adaptive && !routed().tables.groups.empty()) {
        part_.write_adaptive_routes(net_.engine().plant(), routed().graph, routed().tables);
    }
}

// Failures.

void PartSimulation::fail(const Hop& what) {
    part_.fail(net_.engine(), what);
    take_out(damaged_, what);
    net_.run(net_.engine().now());  // So that the ends hear of packets that were dropped.
}

void PartSimulation::take_routes(Routed routed) {
    repaired_ = std::make_unique<Routed>(std::move(routed));
    clear_routes(net_.engine().plant());
    write_routes();
    write_qos();
}

// Messages.

/// Returns the port of an end. Ends of other parts have the numbers behind those of the ports here,
/// see MessageHosts.
std::uint32_t PartSimulation::port_at(std::uint32_t end) const {
    return ends_[end].port != kNone ? ends_[end].port : net_.engine().plant().port_count() + end;
}

const PartSimulation::End& PartSimulation::end_at(std::uint32_t port) const {
    return ends_[port < net_.engine().plant().port_count()
                     ? end_of_port_[port]
                     : port - net_.engine().plant().port_count()];
}

MessageHosts::Send PartSimulation::make_send(std::uint32_t from, std::uint32_t to) const {
    return {.port = port_at(from),
            .to_port = port_at(to),
            .source = ends_[from].lid,
            .destination = ends_[to].lid};
}

void PartSimulation::send(const Message& message, TimePs at) {
    SOFTIB_CHECK(message.to < end_count() && has_end(message.from));
    const routing::Tables& tables = routed().tables;
    const bool routes_decide = routes_need_lanes(tables);
    MessageHosts::Send send = make_send(message.from, message.to);
    send.bytes = message.bytes;
    send.tag = message.tag;
    send.connection = message.connection;
    send.sl = routes_decide ? tables.sl(routed().graph, send.source, send.destination) : message.sl;
    const std::uint32_t index = hosts_.post(net_.engine(), send, at);
    if (!has_end(message.to)) {
        net_.engine().border().crossings()[ends_[message.to].part].push_back(
            crossing_of({.tag = message.tag,
                         .bytes = message.bytes,
                         .index = index,
                         .connection = message.connection,
                         .from = send.source.value,
                         .to = send.destination.value,
                         .sl = send.sl},
                        at));
    }
}

void PartSimulation::take(const Crossing& crossing) {
    if (crossing.link != kNone) {
        part_.take(net_.engine(), crossing);
        return;
    }
    const auto note = std::bit_cast<MessageNote>(crossing.packet);
    MessageHosts::Send send = make_send(end_of_lid_[note.from], end_of_lid_[note.to]);
    switch (note.kind) {
        case MessageNote::Kind::kOpens:
            send.bytes = note.bytes;
            send.tag = note.tag;
            send.connection = note.connection;
            send.sl = note.sl;
            hosts_.open(net_.engine(), send, note.index);
            break;
        case MessageNote::Kind::kCloses:
            hosts_.close(note.index, static_cast<std::uint32_t>(note.bytes));
            break;
        case MessageNote::Kind::kNews:
            hosts_.take_news(net_.engine(), news_of(crossing));
            break;
    }
}

MessageHosts::News PartSimulation::news_of(const Crossing& crossing) const {
    using News = MessageHosts::News;
    const auto note = std::bit_cast<MessageNote>(crossing.packet);
    return {.at = crossing.at,
            .port = port_at(end_of_lid_[note.from]),
            .to_port = port_at(end_of_lid_[note.to]),
            .number = note.index,
            .received = static_cast<std::uint32_t>(note.tag >> 32),
            .order = static_cast<std::uint32_t>(note.tag),
            .body = static_cast<MessageHosts::Body>(note.connection >> kNewsKindBits),
            .kind = static_cast<News::Kind>(note.connection & ((1U << kNewsKindBits) - 1)),
            .sl = note.sl};
}

/// Puts notes and news for hosts of other parts among the crossings.
void PartSimulation::hand_over() {
    for (const MessageHosts::Closed& closed : hosts_.closed()) {
        const End& sender = ends_[end_of_lid_[closed.sender.value]];
        net_.engine().border().crossings()[sender.part].push_back(
            crossing_of({.bytes = closed.answers,
                         .index = closed.index,
                         .from = closed.sender.value,
                         .to = closed.sender.value,
                         .kind = MessageNote::Kind::kCloses},
                        net_.engine().now()));
    }
    hosts_.closed().clear();
    for (const MessageHosts::News& news : hosts_.news()) {
        const End& from = end_at(news.port);
        const End& to = end_at(news.to_port);
        const auto body = static_cast<std::uint32_t>(news.body);
        const bool to_sender = news.target() == news.port;
        net_.engine().border().crossings()[(to_sender ? from : to).part].push_back(crossing_of(
            {.tag = std::uint64_t{news.received} << 32 | news.order,
             .index = news.number,
             .connection = body << kNewsKindBits | static_cast<std::uint32_t>(news.kind),
             .from = from.lid.value,
             .to = to.lid.value,
             .sl = news.sl,
             .kind = MessageNote::Kind::kNews},
            news.at));
    }
    hosts_.news().clear();
}

bool PartSimulation::run_some(TimePs until, std::uint32_t events_max) {
    if (!begun_) {
        begun_ = true;
        // What hosts tell each other crosses where no cable does, too.
        lookahead_ = exchange_.least(std::min(part_.lookahead(), whole_.options.hosts.news_ps));
        net_.run(net_.engine().now());  // Packets sent before the first event may cross too.
    }
    const std::uint64_t begin = net_.engine().stats().events;
    while (net_.engine().stats().events - begin < events_max) {
        if (run_window(until) == Turn::kDone) {
            return true;
        }
    }
    return false;
}

/// Exchanges crossings and runs to the end of a window, or to the next look or change. All parts do
/// the same, since each decision follows from values on which they have agreed.
PartSimulation::Turn PartSimulation::run_window(TimePs until) {
    hand_over();
    exchange_.swap(net_.engine().border().crossings(), [this](std::span<const Crossing> crossings) {
        for (std::size_t i = 0; i < crossings.size(); ++i) {
            part_.fetch_behind(net_.engine(), crossings, i);
            take(crossings[i]);
        }
    });
    // The value is one later than the time: 0 says that a part wants to stop.
    const TimePs mine = net_.engine().idle() ? kNever : net_.engine().earliest() + 1;
    const TimePs least = exchange_.least(wants_stop_ ? 0 : mine);
    stopped_ |= least == 0;
    idle_ = least == kNever;
    const bool change_due = control_.change_due(until);
    if (stopped_ ||
        (idle_ && !between_looks_ && !(change_due && exchange_.sum(hosts_.unfinished()) != 0))) {
        return Turn::kDone;
    }
    const TimePs begin = idle_ ? kNever : least - 1;
    const TimePs target = control_.next_stop(until);
    // `begin` may lie before the time that has been reached, in the middle of a window.
    if (begin <= target && net_.engine().now() < target) {
        between_looks_ = true;
        // Runs to the end of a window of switches (window_queue.h), so that no window is divided.
        const TimePs window = WindowQueue::length(lookahead_);
        net_.run(std::min(target, (begin + window - 1) / window * window));
        return Turn::kGoOn;
    }
    net_.run(target);
    between_looks_ = false;
    control_.stop(target, *this);
    return target == until ? Turn::kDone : Turn::kGoOn;
}

// Answers.

PartTotals PartSimulation::totals() const {
    PartTotals totals{.now = net_.engine().now(), .unfinished = hosts_.unfinished()};
    totals.stats = stats_of(net_.engine(), hosts_);
    const std::vector<topo::Node>& nodes = whole_.start.routed.topology.nodes;
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        const std::uint32_t here = part_.local(node);
        for (std::size_t i = 0; here != kNone && i < nodes[node].ports.size(); ++i) {
            const auto number = static_cast<std::uint8_t>(i);
            if (number == 0 && !net_.engine().plant().is_switch(here)) {
                continue;
            }
            const std::uint32_t port = net_.engine().plant().port_of(here, number);
            const topo::PortLink& cable = nodes[node].ports[number];
            if (number == 0 || cable.peer == topo::kNoNode) {
                continue;
            }
            totals.links.push_back(load_of(net_.engine(), port, control_.looks()));
            totals.links.back().at = {node, number};
            totals.links.back().peer = {cable.peer.value, cable.peer_port.value};
        }
    }
    return totals;
}

void PartSimulation::take_totals(std::vector<PartTotals> all) {
    auto sum = std::make_unique<PartTotals>();
    for (const PartTotals& part : all) {
        sum->links.insert(sum->links.end(), part.links.begin(), part.links.end());
        sum->now = std::max(sum->now, part.now);
        sum->unfinished += part.unfinished;
        sum->stats += part.stats;
    }
    std::ranges::sort(sum->links, {}, &LinkLoad::at);
    totals_ = std::move(sum);
}

ModelStats PartSimulation::stats() const {
    return totals_ ? totals_->stats : totals().stats;
}

std::vector<LinkLoad> PartSimulation::links() const {
    return totals_ ? totals_->links : totals().links;
}

std::uint64_t PartSimulation::unfinished() const {
    return totals_ ? totals_->unfinished : hosts_.unfinished();
}

std::vector<std::string> PartSimulation::check() const {
    if (unfinished() == 0) {
        return {};
    }
    return {"a part sees too little to say why messages do not end: run it all on one thread"};
}

std::vector<Hop> PartSimulation::path(std::uint32_t from, std::uint32_t to) const {
    return paths_->find(ends_[from].node, ends_[to].node);
}

}  // namespace softib::net
