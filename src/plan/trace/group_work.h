// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The places of a job's ranks on a cluster, and the work of a collective operation of a group of
// ranks: the parts that plan/collective gives it, by members of the group. A member is a rank's
// number in its group.

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

/// The NVLink domains and NICs of a cluster's GPUs. GPU g of the cluster is GPU g mod gpus_per_node
/// of node g / gpus_per_node.
class Places {
  public:
    explicit Places(const Cluster& cluster);

    const Cluster& cluster() const { return cluster_; }
    bool share_nvlink(std::uint32_t gpu, std::uint32_t other) const {
        return gpu / domain_gpus_ == other / domain_gpus_ && cluster_.nvlink.bytes_per_s > 0;
    }
    std::uint32_t domain_of(std::uint32_t gpu) const { return gpu / domain_gpus_; }
    /// Returns the end port of a GPU's own NIC.
    std::uint32_t end_of(std::uint32_t gpu) const;
    /// Returns the end port by which a message leaves the node of `from`: that on the rail of `to`
    /// if NVLink can take the message there, else that of `from`.
    std::uint32_t end_towards(std::uint32_t from, std::uint32_t to) const;

  private:
    Cluster cluster_;
    std::uint32_t domain_gpus_;
    bool node_has_nvlink_;
};

/// How ranks are placed on GPUs.
struct Placement {
    enum class How : std::uint8_t {
        kLinear,      ///< Ranks fill one node after the other.
        kRandom,      ///< Ranks fill one node after the other, in a random order of nodes.
        kRoundRobin,  ///< One rank goes to each node in turn.
    };
    How how = How::kLinear;
    std::vector<std::uint32_t> nodes = {};  ///< Nodes that take ranks; empty: all.
    std::uint32_t per_node = 0;             ///< Most ranks of a node; 0: one for each GPU.
    std::uint64_t seed = 1;                 ///< Seed of the random order.
};
/// Parses "linear", "random", "round-robin", or a list of nodes such as "0-3,8".
std::expected<Placement, std::string> parse_placement(std::string_view text);

/// Returns a GPU for each rank, none of those in `taken`, and marks them there. The error says how
/// many are free.
std::expected<std::vector<std::uint32_t>, std::string> place(const Cluster& cluster,
                                                             std::uint32_t ranks,
                                                             const Placement& placement,
                                                             std::vector<bool>& taken);

/// A flow over the fabric from one member to another.
struct GroupFlow {
    std::uint32_t from = 0;  ///< Sending member.
    std::uint32_t to = 0;    ///< Receiving member.
    NicFlow nics = {};
};

/// The work of an operation, as Parts (nccl_parts.h) but by members.
struct GroupWork {
    Algorithm algorithm = Algorithm::kRing;
    double software_us = 0;
    std::vector<std::vector<GroupFlow>> rounds = {};  ///< Sets of flows, one after the other.
    double flow_bytes_per_s = 0;                      ///< Highest rate of a flow; 0: no limit.
    double fabric_us_min = 0;                         ///< Least time in the fabric.
    double nvlink_us = 0;
};

/// A message between two members, as a CollectiveStep (steps.h) is between NICs.
struct GroupStep {
    std::uint32_t from = 0;  ///< Sending member.
    std::uint32_t to = 0;    ///< Receiving member; equal to `from`: there is no message.
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> after = {};  ///< Steps that the sender must have received before.
    std::uint32_t behind = kNoStep;         ///< Step that the sender must have sent before.
    bool leads = true;                      ///< As CollectiveStep::leads.
};
struct GroupSteps {
    std::vector<GroupStep> all = {};
    std::uint32_t hops = 0;  ///< Most leading steps that wait one for the other.
    bool inside = false;     ///< Whether all steps go over NVLink, within one domain.
    bool nvlink = false;     ///< Whether steps include the bytes of GroupWork::nvlink_us.
};

/// A collective operation of a group.
struct GroupOperation {
    Collective collective = Collective::kAllReduce;
    std::uint32_t root = 0;   ///< Member.
    std::uint64_t bytes = 0;  ///< As Operation::bytes; the largest that a member gives.
    /// Bytes that each member sends to each, in an all-to-all with unequal parts; else empty.
    std::vector<std::vector<std::uint64_t>> splits = {};
    std::optional<Algorithm> algorithm = {};  ///< Taken instead of NCCL's choice.
};

/// Returns the operation that the members of a group do together, with the most bytes that one of
/// them gives. `operations` has the number of the operation in each member's program. If only some
/// members have unequal parts, the others send equal ones.
GroupOperation group_operation(const Job& job, std::span<const std::uint32_t> members,
                               std::span<const std::uint32_t> operations);

/// A group of ranks on GPUs.
class Group {
  public:
    Group(const Places& places, std::vector<std::uint32_t> gpus);
    /// Returns the work of an operation as NCCL would do it: by NCCL's tuning where NCCL has
    /// algorithms to choose from, else by messages between the members. A barrier is an all-reduce
    /// of one number.
    GroupWork work(const GroupOperation& operation) const;
    /// Returns the rounds of that work as messages that wait for each other. The messages of a
    /// group within one NVLink domain go over NVLink; if the domain's switches reduce (NVLS), there
    /// are none. An all-to-all has messages over NVLink beside those of NICs.
    GroupSteps steps(const GroupOperation& operation, const GroupWork& work) const;

  private:
    struct Pair {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        std::uint64_t bytes = 0;
    };
    /// Returns the operation of NCCL that this one is; std::nullopt if it is done by messages
    /// between members.
    std::optional<Op> op_of(const GroupOperation& operation) const;
    std::uint32_t first_position(const GroupOperation& operation) const;
    GroupWork chosen(Op op, std::uint64_t bytes, std::optional<Algorithm> algorithm) const;
    GroupWork direct(std::span<const Pair> pairs) const;
    std::vector<Pair> pairs_of(const GroupOperation& operation) const;
    GroupSteps inside(const GroupOperation& operation, const GroupWork& work) const;
    void add_near(const GroupOperation& operation, GroupSteps& made) const;

    const Places& places_;
    std::vector<std::uint32_t> gpus_;
    bool even_ = true;  ///< Whether every domain has the same number of members.
    std::map<std::uint32_t, std::uint32_t> member_;  ///< First member at each end port.
    NcclParts nccl_;
};

}  // namespace softib::plan::trace
