// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The aggregation nodes of a fabric and the SHARP jobs that use them, as the daemon reports them.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/graph.h"

namespace softib::view {

struct SharpNode {
    std::string name;
    std::uint64_t lid = 0;
    std::uint64_t trees = 0, trees_max = 0;
    std::uint64_t groups = 0, groups_max = 0;
    std::uint64_t qps = 0, qps_max = 0;
    std::uint64_t streaming_trees = 0;       ///< How many of `trees` are streaming trees (SAT).
    std::uint64_t locks = 0, locks_max = 0;  ///< Groups that hold their ports' locks, to stream.
};
struct SharpMember {
    std::uint64_t rank = 0;
    std::string hca;
    std::uint64_t port = 0;  ///< The switch port to which the HCA is connected.
};
struct SharpSwitch {
    std::string name;
    std::string parent;  ///< The switch above; empty: this one is the root.
    std::uint64_t port_to_parent = 0;
    std::vector<SharpMember> members;
};
struct SharpGroup {
    std::uint64_t id = 0;
    std::uint64_t members = 0;
    std::string lock;
};
struct SharpJob {
    std::uint64_t id = 0;
    std::string key;
    std::string state;
    std::uint64_t members = 0, tree = 0, depth = 0;
    std::uint64_t osts = 0, payload_bytes = 0, groups_max = 0;
    std::string reason;                 ///< Why the job failed, if it did.
    std::string kind;                   ///< The kind of its tree: LLT or SAT.
    std::vector<SharpSwitch> switches;  ///< The root first.
    std::vector<SharpGroup> groups;
};
struct Sharp {
    std::vector<SharpNode> nodes;
    std::vector<SharpJob> jobs;
};

/// Returns a fabric for drawing that consists of the trees of all jobs: their switches, their
/// members, and cables between them.
topo::Fabric draw_trees(const Sharp& sharp);

/// Reads the text that SharpClients::describe writes. Lines that are not of that format are
/// ignored.
Sharp parse_sharp(std::string_view text);
/// Asks the daemon for its aggregation nodes and jobs. The error is an errno value.
std::expected<Sharp, int> ask_sharp(int daemon);

}  // namespace softib::view
