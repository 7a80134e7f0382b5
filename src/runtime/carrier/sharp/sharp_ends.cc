// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/sharp/sharp_ends.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/sharp/aggregation_node.h"
#include "runtime/carrier/adapters.h"
#include "runtime/carrier/arena_memory.h"
#include "runtime/shm/rpc.h"

namespace softib::carrier {

namespace {

using sharp::Error;

/// Time of 64 bytes from a switch to its node. It is next to nothing, so that all ports of the
/// switch reach the node at their own speed.
constexpr std::uint32_t kNodeBlockPs = 1;

/// Returns the content of a file, and closes it.
std::string read_all(int fd) {
    struct stat st{};
    std::string text;
    if (fstat(fd, &st) == 0) {
        text.resize(static_cast<std::size_t>(st.st_size));
    }
    if (pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        text.clear();
    }
    close(fd);
    return text;
}

}  // namespace

SharpEnds::Group::~Group() {
    if (base != nullptr) {
        munmap(base, bytes);
    }
}

sharp::PostedTurn& SharpEnds::Group::post(std::size_t rank, std::uint64_t turn) const {
    return reinterpret_cast<sharp::PostedTurn*>(
        base + posts_off)[rank * sharp::kSlots + turn % sharp::kSlots];
}

std::byte* SharpEnds::Group::vector(std::size_t rank, std::uint64_t turn,
                                    std::uint32_t turn_bytes) const {
    const sharp::SlotLayout layout(static_cast<std::uint32_t>(members.size()));
    return base + slots_off + turn % sharp::kSlots * layout.bytes() + layout.data(turn_bytes, rank);
}

SharpEnds::SharpEnds(const shm::Arena& arena, std::string dir, const Tables& tables,
                     Adapters& adapters, net::Engine& net)
    : arena_(arena),
      dir_(std::move(dir)),
      tables_(tables),
      adapters_(adapters),
      net_(net),
      node_at_(net.plant().port_count(), nullptr) {}

void SharpEnds::follow() {
    const auto generation = arena_.header->sharp_generation.load(std::memory_order_acquire);
    const auto routes = arena_.header->route_generation.load(std::memory_order_acquire);
    if (generation == generation_ && (nodes_.empty() || routes == routes_)) {
        return;
    }
    const auto plane = ask();
    if (!plane) {
        hang_up();
        return;  // The daemon is ending, and will end the carrier too.
    }
    generation_ = generation;
    routes_ = routes;
    read_nodes(*plane);
    read_connections();
    read_groups(*plane);
    hang_up();
}

/// Closes the connection to the daemon. Changes are too rare to keep it.
void SharpEnds::hang_up() {
    if (daemon_ >= 0) {
        close(std::exchange(daemon_, -1));
    }
}

std::optional<sharp::SharpPlane> SharpEnds::ask() {
    if (daemon_ < 0) {
        daemon_ = shm::rpc_connect(dir_.c_str());
    }
    shm::Message message;
    shm::request::OneFile told;
    if (daemon_ < 0 || shm::rpc_ask(daemon_, shm::request::SharpPlane{}, message, told) != 0) {
        return std::nullopt;
    }
    return sharp::parse_plane(read_all(told.file));
}

void SharpEnds::read_nodes(const sharp::SharpPlane& plane) {
    for (const sharp::SharpPlane::Node& told : plane.nodes) {
        if (told.sw >= arena_.header->switches || nodes_.contains(told.sw)) {
            continue;
        }
        const std::uint32_t port = net_.plant().port_of(tables_.switch_node(told.sw), 0);
        const auto ports = static_cast<std::uint8_t>(arena_.switches[told.sw].port_count - 1);
        Node& made = *(nodes_[told.sw] = std::make_unique<Node>(ports, port));
        node_at_[port] = &made;
        adapters_.hosts().attach(port, made.host.hca());
        net_.ports().set_speed(port, kNodeBlockPs);
    }
    for (auto& [sw, node] : nodes_) {
        const auto told = std::ranges::find(plane.nodes, sw, &sharp::SharpPlane::Node::sw);
        hca::Port port;
        port.lid = Lid{arena_.switches[sw].lid.load(std::memory_order_relaxed)};
        node->host.hca().set_port(port);
        node->tables.restore(told == plane.nodes.end() ? std::span<const wire::MadBytes>{}
                                                       : std::span(told->requests));
        node->host.follow_tables();
    }
}

net::TreePort& SharpEnds::port_of(std::uint32_t hca) {
    auto& port = ports_[hca];
    if (port == nullptr) {
        port = std::make_unique<net::TreePort>(
            adapters_.hca(hca), net::TreePort::Config{.pd = kOwnPd, .lkey = kOwnKey});
    }
    return *port;
}

/// Opens and closes members' queue pairs: each is the other end of a queue pair in a node's tables.
void SharpEnds::read_connections() {
    std::map<Qpn, std::pair<std::uint32_t, wire::SharpQpcConfig>> wanted;
    for (const auto& [sw, node] : nodes_) {
        for (const auto& [qpn, context] : node->tables.qps()) {
            const shm::NodeRef& owner = arena_.lid_owner[context.rlid.value];
            if (context.state != wire::SharpQpcConfig::State::kActive ||
                owner.kind != shm::NodeRef::kHca || !sharp::is_member_qpn(context.rqpn.value)) {
                continue;
            }
            wire::SharpQpcConfig mirrored = context;
            std::swap(mirrored.qpn, mirrored.rqpn);
            std::swap(mirrored.rq_psn, mirrored.sq_psn);
            mirrored.rlid = node->host.hca().port().lid;
            wanted[context.rqpn] = {owner.index, mirrored};
        }
    }
    for (auto at = hca_of_.begin(); at != hca_of_.end();) {
        const auto found = wanted.find(at->first);
        if (found == wanted.end() || found->second.first != at->second ||
            *port_of(at->second).find(at->first) != found->second.second) {
            port_of(at->second).close(at->first);
            fail_member(at->first);
            at = hca_of_.erase(at);
        } else {
            ++at;
        }
    }
    for (const auto& [qpn, end] : wanted) {
        if (!hca_of_.contains(qpn) && port_of(end.first).open(end.second)) {
            hca_of_[qpn] = end.first;
        }
    }
}

void SharpEnds::read_groups(const sharp::SharpPlane& plane) {
    const auto key_of = [](const sharp::SharpPlane::Group& group) {
        return Key{group.job, group.group};
    };
    std::erase_if(groups_, [&](const auto& entry) {
        return std::ranges::find(plane.groups, entry.first, key_of) == plane.groups.end();
    });
    for (const sharp::SharpPlane::Group& told : plane.groups) {
        if (!groups_.contains(key_of(told))) {
            if (auto group = open_group(told)) {
                groups_[key_of(told)] = std::move(group);
            }
        }
    }
}

std::unique_ptr<SharpEnds::Group> SharpEnds::open_group(const sharp::SharpPlane::Group& told) {
    shm::Message message;
    shm::request::OneFile memory;
    if (shm::rpc_ask(daemon_, shm::request::SharpMemory{told.job, told.group}, message, memory) !=
        0) {
        return nullptr;  // The group has ended meanwhile.
    }
    struct stat st{};
    auto group = std::make_unique<Group>();
    if (fstat(memory.file, &st) == 0) {
        group->bytes = static_cast<std::uint64_t>(st.st_size);
        void* const at =
            mmap(nullptr, group->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file, 0);
        group->base = at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
    }
    close(memory.file);
    const sharp::SlotLayout layout(static_cast<std::uint32_t>(told.members.size()));
    if (group->base == nullptr) {
        return nullptr;
    }
    group->slots_off = group->header().slots_off;
    group->posts_off = group->header().posts_off;
    // The offsets are checked and kept here, since members may change the header later.
    if (group->slots_off > group->bytes || group->posts_off > group->bytes ||
        group->bytes - group->slots_off < sharp::kSlots * layout.bytes() ||
        group->bytes - group->posts_off < sharp::posts_bytes(told.members.size())) {
        return nullptr;
    }
    sharp::FragmentRule rule{.datagram_bytes = told.datagram_bytes,
                             .datagrams = told.datagrams,
                             .streams = told.streams};
    for (const sharp::SharpPlane::Member& member : told.members) {
        group->members.push_back(
            {member.hca, Qpn{member.qpn},
             sharp::TreeMember(static_cast<std::uint16_t>(told.tree), told.group, rule)});
        if (!hca_of_.contains(Qpn{member.qpn})) {
            fail(*group, Error::kConnectTree);
        }
    }
    return group;
}

/// Fails a group. Members that wait for anything in the group see the error.
void SharpEnds::fail(Group& group, Error error) {
    group.failed = true;
    std::int32_t none = 0;
    group.header().error.compare_exchange_strong(none, static_cast<std::int32_t>(error));
}

/// Fails the groups of a member whose connection is gone or has failed.
void SharpEnds::fail_member(Qpn qpn) {
    for (auto& [key, group] : groups_) {
        if (std::ranges::find(group->members, qpn, &Member::qpn) != group->members.end()) {
            fail(*group, Error::kConnectTree);
        }
    }
}

/// Fails the groups that need a node's connection which has given up. The node cannot tell the
/// parent or child at the other end, so members would wait for ever.
void SharpEnds::fail_connection(const sharp::AggregationTables& tables, Qpn qpn) {
    for (const auto& [id, at] : tables.groups()) {
        const auto* const tree = tables.tree(at.tree);
        if (!at.children.contains(qpn) && (tree == nullptr || tree->parent != qpn)) {
            continue;
        }
        for (auto& [key, group] : groups_) {
            if (key.second == id) {
                fail(*group, Error::kConnectTree);
            }
        }
    }
}

bool SharpEnds::serve() {
    behind_ = false;
    bool busy = false;
    for (auto& [key, group] : groups_) {
        busy |= !group->failed && begin_posted(*group);
    }
    return busy || behind_;
}

bool SharpEnds::begin_posted(Group& group) {
    bool busy = false;
    for (std::size_t rank = 0; rank < group.members.size() && !group.failed; ++rank) {
        bool began = false;
        while (begin(group, rank)) {
            began = true;
        }
        if (began) {
            transmit(group.members[rank]);
            adapters_.send_from(group.members[rank].hca);
        }
        busy |= began;
    }
    return busy;
}

/// Begins the next turn of a member. Returns false if the member has posted none or nonsense, or if
/// newer tables must be read first.
bool SharpEnds::begin(Group& group, std::size_t rank) {
    Member& member = group.members[rank];
    const sharp::PostedTurn& posted = group.post(rank, member.next);
    if (posted.posted.load(std::memory_order_acquire) != member.next + 1 ||
        member.next - member.done >= sharp::kSlots) {
        return false;
    }
    // A member streams once it knows that its group has the locks; before that, the daemon has
    // announced new tables. They may be newer than those with which this round began, and a node
    // whose tables lack the lock would end the group.
    if (arena_.header->sharp_generation.load(std::memory_order_acquire) != generation_) {
        behind_ = true;
        return false;
    }
    // The post is read only once, since the member may change it at any time.
    sharp::TreeMember::Task task{.sequence = static_cast<std::uint32_t>(member.next),
                                 .bytes = posted.bytes,
                                 .streaming = posted.streaming != 0,
                                 .reduction = {static_cast<sharp::DataType>(posted.data_type),
                                               static_cast<sharp::ReduceOp>(posted.reduce_op),
                                               static_cast<sharp::DataType>(posted.tag_type)},
                                 .give = {posted.give_begin, posted.give_end},
                                 .take = {posted.take_begin, posted.take_end}};
    const auto is_inside = [&](const sharp::TreeMember::Part& part) {
        return part.begin <= part.end && part.end <= task.bytes;
    };
    if (task.bytes > sharp::kWindowBytes || !sharp::is_supported(task.reduction) ||
        task.bytes % task.reduction.element_bytes() != 0 || !is_inside(task.give) ||
        !is_inside(task.take)) {
        fail(group, Error::kInvalid);
        return false;
    }
    task.vector = group.vector(rank, member.next, task.bytes);
    member.tree.begin(task);
    ++member.next;
    return true;
}

/// Posts a member's packets to its HCA. The caller must then let the HCA send.
void SharpEnds::transmit(Member& member) {
    while (auto bytes = member.tree.poll_transmit()) {
        port_of(member.hca).send(member.qpn, std::move(*bytes));
    }
}

void SharpEnds::finish(Group& group, std::size_t rank) {
    Member& member = group.members[rank];
    while (member.tree.poll_done()) {
        group.post(rank, member.done).done.store(member.done + 1, std::memory_order_release);
        ++member.done;
    }
    if (member.tree.error() != Error::kNone) {
        fail(group, member.tree.error());
    }
}

void SharpEnds::deliver(Qpn at, std::span<const std::uint8_t> bytes) {
    const auto header = wire::parse<wire::SharpDataHeader>(bytes);
    if (!header) {
        return;
    }
    for (auto& [key, group] : groups_) {
        if (key.second != header->group_id || group->failed) {
            continue;
        }
        const auto member = std::ranges::find(group->members, at, &Member::qpn);
        if (member != group->members.end()) {
            member->tree.handle_packet(bytes);
            finish(*group, static_cast<std::size_t>(member - group->members.begin()));
            transmit(*member);
        }
    }
}

void SharpEnds::take_completions() {
    for (const hca::Completion& done : std::exchange(completions_, {})) {
        const auto found = hca_of_.find(done.qpn);
        if (found == hca_of_.end()) {
            continue;
        }
        if (const auto arrived = port_of(found->second).take(done)) {
            deliver(arrived->at, arrived->bytes);
        }
        if (port_of(found->second).has_failed(done.qpn)) {
            fail_member(done.qpn);
        }
    }
}

void SharpEnds::after_packet(std::uint32_t port) {
    Node& node = *node_at_[port];
    node.host.transmit(node.host.receive());
    for (const Qpn qpn : node.host.take_lost()) {
        fail_connection(node.tables, qpn);
    }
}

void SharpEnds::write_counts() {
    constexpr auto kCounters = wire::SharpPerformanceCounters::counters();
    static_assert(kCounters.size() == shm::kAggregationCounters);
    for (auto& [sw, node] : nodes_) {
        const wire::SharpPerformanceCounters now = node->host.counters();
        const wire::SharpPerformanceCounters before = std::exchange(node->written, now);
        for (std::size_t i = 0; i < kCounters.size(); ++i) {
            arena_.switches[sw].aggregation[i].fetch_add(now.*kCounters[i] - before.*kCounters[i],
                                                         std::memory_order_relaxed);
        }
    }
}

void SharpEnds::handle_timeouts(std::uint64_t now_ns) {
    for (auto& [sw, node] : nodes_) {
        if (node->host.hca().next_timeout_ns() <= now_ns) {
            node->host.hca().handle_timeout(now_ns);
            after_packet(node->port);
            adapters_.hosts().pump(net_, node->port);
        }
    }
}

std::uint64_t SharpEnds::next_timeout_ns() const {
    std::uint64_t next = hca::kNever;
    for (const auto& [sw, node] : nodes_) {
        next = std::min(next, node->host.hca().next_timeout_ns());
    }
    return next;
}

}  // namespace softib::carrier
