// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/output_files.h"
#include "app/cli/text_file.h"
#include "app/fabric/launch.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "core/topo/render.h"
#include "view/json.h"
#include "view/sharp.h"

namespace softib::app {

namespace {

using view::Json;

Json nodes_json(const view::Sharp& sharp) {
    Json nodes = Json::array();
    for (const view::SharpNode& node : sharp.nodes) {
        nodes.push_back({{"name", node.name},
                         {"lid", node.lid},
                         {"trees", node.trees},
                         {"trees_max", node.trees_max},
                         {"llt_trees", node.trees - node.streaming_trees},
                         {"sat_trees", node.streaming_trees},
                         {"locks", node.locks},
                         {"locks_max", node.locks_max},
                         {"groups", node.groups},
                         {"groups_max", node.groups_max},
                         {"qps", node.qps},
                         {"qps_max", node.qps_max}});
    }
    return nodes;
}

/// Returns whether a group of the job holds the locks of its ports, so that it may stream.
bool streams(const view::SharpJob& job) {
    return std::ranges::find(job.groups, "locked", &view::SharpGroup::lock) != job.groups.end();
}

Json tree_json(const view::SharpJob& job) {
    Json switches = Json::array();
    for (const view::SharpSwitch& each : job.switches) {
        Json members = Json::array();
        for (const view::SharpMember& member : each.members) {
            members.push_back({{"rank", member.rank}, {"hca", member.hca}, {"port", member.port}});
        }
        switches.push_back({{"name", each.name},
                            {"parent", each.parent},
                            {"port_to_parent", each.port_to_parent},
                            {"members", std::move(members)}});
    }
    return switches;
}

Json jobs_json(const view::Sharp& sharp, bool with_trees) {
    Json jobs = Json::array();
    for (const view::SharpJob& job : sharp.jobs) {
        Json one{{"id", job.id},
                 {"key", job.key},
                 {"state", job.state},
                 {"members", job.members},
                 {"tree", job.tree},
                 {"kind", job.kind},
                 {"streams", streams(job)},
                 {"depth", job.depth},
                 {"osts", job.osts},
                 {"payload_bytes", job.payload_bytes},
                 {"groups_max", job.groups_max},
                 {"groups", job.groups.size()},
                 {"reason", job.reason}};
        if (with_trees) {
            one["switches"] = tree_json(job);
        }
        jobs.push_back(std::move(one));
    }
    return jobs;
}

/// Prints a switch with its members and the switches below it, each level indented by two spaces.
void print_switch(const view::SharpJob& job, const view::SharpSwitch& at, std::size_t depth) {
    const std::string indent(depth * 2, ' ');
    fmt::print("{}{}\n", indent, at.name);
    for (const view::SharpMember& member : at.members) {
        fmt::print("{}  port {}: rank {} ({})\n", indent, member.port, member.rank, member.hca);
    }
    for (const view::SharpSwitch& other : job.switches) {
        if (other.parent == at.name && depth < job.switches.size()) {
            print_switch(job, other, depth + 1);
        }
    }
}

void print_trees(const view::Sharp& sharp) {
    for (const view::SharpJob& job : sharp.jobs) {
        fmt::print("{} tree {} of job {}, {} deep{}\n", job.kind, job.tree, job.id,
                   counted(job.depth, "level"), streams(job) ? ", streams" : "");
        if (!job.switches.empty()) {
            print_switch(job, job.switches.front(), 1);
        }
    }
}

void print_jobs(const view::Sharp& sharp) {
    Table table(
        {"job", "key", "state", "members", "kind", "tree", "groups", "OSTs", "payload", "reason"});
    for (const view::SharpJob& job : sharp.jobs) {
        table.row({std::to_string(job.id), job.key, job.state, std::to_string(job.members),
                   job.kind, std::to_string(job.tree),
                   fmt::format("{}/{}", job.groups.size(), job.groups_max),
                   std::to_string(job.osts), std::to_string(job.payload_bytes), job.reason});
    }
    fmt::print("{}", table.text());
}

void print_nodes(const view::Sharp& sharp) {
    fmt::print("{}, {}\n", counted(sharp.nodes.size(), "aggregation node"),
               counted(sharp.jobs.size(), "job"));
    Table table({"node", "LID", "trees", "LLT", "SAT", "locks", "groups", "QPs"});
    for (const view::SharpNode& node : sharp.nodes) {
        table.row(
            {node.name, std::to_string(node.lid), fmt::format("{}/{}", node.trees, node.trees_max),
             std::to_string(node.trees - node.streaming_trees),
             std::to_string(node.streaming_trees), fmt::format("{}/{}", node.locks, node.locks_max),
             fmt::format("{}/{}", node.groups, node.groups_max),
             fmt::format("{}/{}", node.qps, node.qps_max)});
    }
    fmt::print("{}", table.text());
}

int draw(const SharpOptions& options, const view::Sharp& sharp) {
    if (sharp.jobs.empty()) {
        return fail("there is no SHARP job whose tree could be drawn");
    }
    const topo::Fabric trees = view::draw_trees(sharp);
    int status = 0;
    if (!options.dot.empty()) {
        status |= write_text(options.dot, topo::render_dot(trees));
    }
    if (!options.svg.empty()) {
        status |= write_text(options.svg, topo::render_svg(trees));
    }
    return status;
}

}  // namespace

int cmd_sharp(const SharpOptions& options) {
    const bool draws = !options.dot.empty() || !options.svg.empty();
    if (draws && (options.action != "trees" || options.json)) {
        return misuse("--dot and --svg are for softib sharp trees, without --json");
    }
    const OutputFile files[]{{"--dot", options.dot}, {"--svg", options.svg}};
    if (const int wrong = check_outputs(files); wrong != 0) {
        return wrong;
    }
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (auto subnet = check_subnet(*observer); !subnet) {
        return fail(subnet.error());
    }
    const auto sharp = view::ask_sharp(observer->daemon());
    if (!sharp) {
        return fail(why_not(sharp.error()));
    }
    if (draws) {
        return draw(options, *sharp);
    }
    if (options.json) {
        fmt::print("{}", json_text(options.action == "status"
                                       ? Json{{"nodes", nodes_json(*sharp)},
                                              {"jobs", jobs_json(*sharp, false)}}
                                       : jobs_json(*sharp, options.action == "trees")));
    } else if (options.action == "trees") {
        print_trees(*sharp);
    } else if (options.action == "jobs") {
        print_jobs(*sharp);
    } else {
        print_nodes(*sharp);
    }
    return 0;
}

}  // namespace softib::app
