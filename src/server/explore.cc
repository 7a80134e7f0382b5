// SPDX-License-Identifier: BSD-2-Clause
#include "server/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "server/connection.h"
#include "server/json.h"
#include "server/mapped_arena.h"
#include "view/manager.h"
#include "view/names.h"
#include "view/paths.h"
#include "view/programs.h"
#include "view/sharp.h"
#include "view/what_if.h"

namespace softib::server {

namespace {

constexpr std::uint8_t kNoRoute = 0xFF;

Response no_node(std::string_view name) {
    return Response::error(404, fmt::format("no node '{}'; names are as h0/mlx5_0 or leaf0", name));
}

Response path_response(const shm::Arena& arena, int, const Call& call) {
    const std::string_view from_name = call.text("from");
    const std::string_view to_name = call.text("to");
    const auto from = view::find_node(arena, from_name);
    const auto to = view::find_node(arena, to_name);
    if (!from || !to) {
        return no_node(from ? to_name : from_name);
    }
    const view::Path path = view::trace(arena, *from, *to);
    Json hops = Json::array();
    for (const view::Hop& hop : path.hops) {
        hops.push_back({{"node", hop.node}, {"in", hop.in_port}, {"out", hop.out_port}});
    }
    return Response::json(to_text({{"from", view::node_name(arena, *from)},
                                   {"to", view::node_name(arena, *to)},
                                   {"lid", view::lid_of(arena, *to).value},
                                   {"trouble", path.trouble},
                                   {"hops", std::move(hops)}}));
}

/// Returns the cables of a SHARP job's tree, as switch ports, and its members.
Json tree_of(const view::SharpJob& job) {
    Json ports = Json::array();
    Json members = Json::array();
    for (const view::SharpSwitch& sw : job.switches) {
        if (!sw.parent.empty()) {
            ports.push_back(fmt::format("{}:{}", sw.name, sw.port_to_parent));
        }
        for (const view::SharpMember& member : sw.members) {
            const std::string port = fmt::format("{}:{}", sw.name, member.port);
            ports.push_back(port);
            members.push_back({{"rank", member.rank}, {"hca", member.hca}, {"port", port}});
        }
    }
    return {{"kind", "sharp"},
            {"id", fmt::format("job {}", job.id)},
            {"text", fmt::format("{}, {} members, depth {}", job.state, job.members, job.depth)},
            {"root", job.switches.empty() ? "" : job.switches.front().name},
            {"members", std::move(members)},
            {"ports", std::move(ports)}};
}

Response trees_response(const shm::Arena& arena, int daemon, const Call&) {
    Json trees = Json::array();
    for (const view::MulticastTree& tree : view::multicast_trees(arena)) {
        std::string groups;
        for (const Gid& gid : tree.groups) {
            groups += (groups.empty() ? "" : ", ") + to_string(gid);
        }
        trees.push_back({{"kind", "multicast"},
                         {"id", fmt::format("0x{:04x}", tree.mlid.value)},
                         {"text", groups},
                         {"root", ""},
                         {"members", Json::array()},
                         {"ports", tree.ports}});
    }
    if (const auto sharp = view::ask_sharp(daemon)) {
        for (const view::SharpJob& job : sharp->jobs) {
            trees.push_back(tree_of(job));
        }
    }
    return Response::json(to_text({{"trees", std::move(trees)}}));
}

Response jobs_response(const shm::Arena& arena, int daemon, const Call&) {
    Json jobs = Json::array();
    for (const view::Program& program : view::programs(arena)) {
        const view::Holdings held = view::holdings(arena, program.owner);
        std::uint64_t bytes = 0;
        for (const view::MemoryTier& tier : held.memory) {
            bytes += tier.bytes;
        }
        jobs.push_back({{"kind", "program"},
                        {"id", program.pid},
                        {"name", program.command},
                        {"host", program.host},
                        {"state", "running"},
                        {"qps", held.qps},
                        {"mrs", held.mrs},
                        {"bytes", bytes}});
    }
    if (const auto sharp = view::ask_sharp(daemon)) {
        for (const view::SharpJob& job : sharp->jobs) {
            jobs.push_back({{"kind", "sharp"},
                            {"id", job.id},
                            {"name", job.key},
                            {"host", fmt::format("{} members", job.members)},
                            {"state", job.state},
                            {"qps", 0},
                            {"mrs", 0},
                            {"bytes", 0}});
        }
    }
    return Response::json(to_text({{"jobs", std::move(jobs)}}));
}

Response pkeys_response(const shm::Arena& arena, int, const Call&) {
    Json list = Json::array();
    for (const view::Partition& partition : view::partitions(arena)) {
        list.push_back({{"pkey", fmt::format("0x{:04x}", partition.pkey.value)},
                        {"full", partition.full},
                        {"limited", partition.limited}});
    }
    return Response::json(to_text({{"pkeys", std::move(list)}}));
}

/// Answers with a switch's forwarding table, as rows of [LID, node, port]. A port of null means
/// that packets are dropped.
Response routes_response(const shm::Arena& arena, int, const Call& call) {
    const std::string_view name = call.name();
    const auto node = view::find_node(arena, name);
    if (!node || node->kind != shm::NodeRef::kSwitch) {
        return Response::error(404, fmt::format("no switch '{}' in this fabric", name));
    }
    Json rows = Json::array();
    for (std::uint32_t i = 1; i <= arena.header->lid_max; ++i) {
        const Lid lid{static_cast<std::uint16_t>(i)};
        const std::uint8_t port = arena.lft(node->index, lid).load(std::memory_order_relaxed);
        if (arena.lid_owner[i].kind != shm::NodeRef::kNone || port != kNoRoute) {
            rows.push_back(
                {i, view::node_name(arena, lid), port == kNoRoute ? Json() : Json(port)});
        }
    }
    return Response::json(to_text({{"switch", name}, {"routes", std::move(rows)}}));
}

Response what_if_response(const shm::Arena& arena, int daemon, const Call& call) {
    view::Outage outage;
    for (std::string_view list = call.text("down"); !list.empty();) {
        const std::string item(list.substr(0, list.find(',')));
        list.remove_prefix(std::min(item.size() + 1, list.size()));
        if (!item.empty()) {
            (item.find(':') == std::string::npos ? outage.switches : outage.ports).push_back(item);
        }
    }
    if (outage.ports.empty() && outage.switches.empty()) {
        return Response::error(400, "say what is down: ?down=leaf0:3,spine1");
    }
    const auto manager = view::ask_manager(daemon, shm::ManagerCommand::kStatus);
    const std::string engine = manager && manager->ours ? manager->ours->engine : "auto";
    const auto result = view::what_if(arena, outage, engine);
    if (!result) {
        return Response::error(409, result.error());
    }
    Json ports = Json::array();
    for (const view::PortRoutes& port : result->ports) {
        ports.push_back({port.port, port.before, port.after});
    }
    return Response::json(to_text({{"engine", result->engine},
                                   {"entries_changed", result->entries_changed},
                                   {"switches_changed", result->switches_changed},
                                   {"pairs_before", result->pairs_before},
                                   {"pairs_after", result->pairs_after},
                                   {"ports", std::move(ports)}}));
}

}  // namespace

Handler Explore::with_fabric(Answer answer) const {
    return [answer = std::move(answer), dir = dir_](const Call& call) {
        if (dir.empty()) {
            return Response::error(404, "only a running fabric of softib tells this");
        }
        const Connection daemon(dir);
        const auto arena = MappedArena::open(daemon);
        return arena ? answer(**arena, daemon.fd(), call) : Response::error(503, arena.error());
    };
}

std::vector<Route> Explore::routes() const {
    using enum ValueKind;
    return {
        get("/api/v1/path", with_fabric(path_response),
            "`hops` of `{node, in, out}` by the forwarding tables, and `trouble`: why the path "
            "ends before its destination. A host means its first HCA",
            {{"from", kText, "a node", true}, {"to", kText, "a node", true}}),
        get("/api/v1/trees", with_fabric(trees_response),
            "multicast groups and SHARP jobs, each with the `ports` of its tree; for a job also "
            "its `root` and `members`: `rank`, `hca` and the `port` of its switch"),
        get("/api/v1/pkeys", with_fabric(pkeys_response),
            "P_Keys with their members as the HCAs' ports hold them"),
        get("/api/v1/jobs", with_fabric(jobs_response), "programs on hosts, and SHARP jobs"),
        get("/api/v1/routes/{switch...}", with_fabric(routes_response),
            "its forwarding table, rows of `[LID, node, port]`; port null: packets are dropped"),
        get("/api/v1/whatif", with_fabric(what_if_response),
            "the routes that the subnet manager's routing engine computes without these: entries "
            "that change, pairs of hosts that reach each other before and after, ports with "
            "`[name, routes before, after]`. Nothing is changed",
            {{"down", kText, "cables and switches: `leaf0:3,spine1`", true}}),
    };
}

}  // namespace softib::server
