// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Where the ranks of a job are on a cluster, and what a collective operation of a group of them
// consists of: the parts that plan/collective gives it, by members of the group.

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/collective/nccl_parts.h"
#include "plan/collective/steps.h"
#include "plan/trace/job.h"

namespace softib::plan::trace {

/// GPU g of the cluster is GPU g mod gpus_per_node of node g / gpus_per_node.
class Places {
  public:
    explicit Places(const Cluster& cluster);

    const Cluster& cluster() const { return cluster_; }
    bool share_nvlink(std::uint32_t gpu, std::uint32_t other) const {
        return gpu / domain_gpus_ == other / domain_gpus_ && cluster_.nvlink.bytes_per_s > 0;
    }
    std::uint32_t domain_of(std::uint32_t gpu) const { return gpu / domain_gpus_; }
    /// The end port of a GPU's own NIC.
    std::uint32_t end_of(std::uint32_t gpu) const;
    /// The end port by which a message leaves: NVLink takes it to the receiver's rail first.
    std::uint32_t end_towards(std::uint32_t from, std::uint32_t to) const;

  private:
    Cluster cluster_;
    std::uint32_t domain_gpus_;
    bool node_has_nvlink_;
};

/// How ranks are dealt to GPUs.
struct Placement {
    enum class How : std::uint8_t {
        kLinear,      ///< Node by node,
        kRandom,      ///< the same in a random order of nodes,
        kRoundRobin,  ///< one rank on each node in turn.
    };
    How how = How::kLinear;
    std::vector<std::uint32_t> nodes = {};  ///< Empty: all.
    std::uint32_t per_node = 0;             ///< Ranks that a node takes; 0: one for each GPU.
    std::uint64_t seed = 1;
};
/// "linear", "random", "round-robin", or nodes as "0-3,8".
std::expected<Placement, std::string> parse_placement(std::string_view text);

/// Returns a GPU for each rank and marks it as taken. The error says how many are free.
std::expected<std::vector<std::uint32_t>, std::string> place(const Cluster& cluster,
                                                             std::uint32_t ranks,
                                                             const Placement& placement,
                                                             std::vector<bool>& taken);

/// What one member sends to another over the fabric.
struct GroupFlow {
    std::uint32_t from = 0;  ///< Member.
    std::uint32_t to = 0;    ///< Member.
    NicFlow nics = {};
};

struct GroupWork {
    Algorithm algorithm = Algorithm::kRing;
    double software_us = 0;
    std::vector<std::vector<GroupFlow>> rounds = {};  ///< One after the other.
    double flow_bytes_per_s = 0;                      ///< Limit of a flow; 0: none.
    double fabric_us_min = 0;
    double nvlink_us = 0;
};

/// A message between two members, as a CollectiveStep (steps.h) is between NICs.
struct GroupStep {
    std::uint32_t from = 0;  ///< Member.
    std::uint32_t to = 0;    ///< Member. The same as `from`: no message.
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> after = {};  ///< Steps that its sender has received before.
    std::uint32_t behind = kNoStep;         ///< Step of the same sender that has left before.
    bool leads = true;
};
struct GroupSteps {
    std::vector<GroupStep> all = {};
    std::uint32_t hops = 0;  ///< Leading steps that follow each other, at most.
    bool inside = false;     ///< All go over NVLink, within one domain.
    bool nvlink = false;     ///< What GroupWork::nvlink_us stands for is among them.
};

/// One operation, as its first member sees it; `splits` has what each member sends to each.
struct GroupOperation {
    Collective collective = Collective::kAllReduce;
    std::uint32_t root = 0;
    std::uint64_t bytes = 0;
    std::vector<std::vector<std::uint64_t>> splits = {};
    std::optional<Algorithm> algorithm = {};  ///< Instead of the one that NCCL would take.
};

class Group {
  public:
    Group(const Places& places, std::vector<std::uint32_t> gpus);
    /// Decomposes an operation as NCCL would: by its tuning where it has a choice, else by messages
    /// between the members. A barrier is an all-reduce of one number.
    GroupWork work(const GroupOperation& operation) const;
    /// The rounds of that work as messages that wait for each other. A group within one NVLink
    /// domain has its messages there, unless the domain's switches add up (NVLS): then there are
    /// none. An exchange between all members has messages over NVLink beside those of NICs.
    GroupSteps steps(const GroupOperation& operation, const GroupWork& work) const;

  private:
    struct Pair {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        std::uint64_t bytes = 0;
    };
    /// What NCCL has a choice of algorithms for; std::nullopt: messages between all members.
    std::optional<Op> op_of(const GroupOperation& operation) const;
    std::uint32_t first_position(const GroupOperation& operation) const;
    GroupWork chosen(Op op, std::uint64_t bytes, std::optional<Algorithm> algorithm) const;
    GroupWork direct(std::span<const Pair> pairs) const;
    std::vector<Pair> pairs_of(const GroupOperation& operation) const;
    GroupSteps inside(const GroupOperation& operation, const GroupWork& work) const;
    void add_near(const GroupOperation& operation, GroupSteps& made) const;

    const Places& places_;
    std::vector<std::uint32_t> gpus_;
    bool even_ = true;                               ///< Every domain has as many members.
    std::map<std::uint32_t, std::uint32_t> member_;  ///< By end port, the first.
    NcclParts nccl_;
};

}  // namespace softib::plan::trace
