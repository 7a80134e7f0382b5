// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The tables of an aggregation node, which is the part of a switch that reduces: queue pairs,
// trees, quotas of jobs, groups, and the locks that a group takes on the ports through which it
// streams. The aggregation manager reads and writes them by MADs of class 0x0B. A request that is
// wrong in any part changes nothing; a Set without the key that the manager gave the node is wrong.
// Code that moves data only reads the tables, and counts.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/sharp/sharp_an_info.h"
#include "core/wire/sharp/sharp_group_join.h"
#include "core/wire/sharp/sharp_performance_counters.h"
#include "core/wire/sharp/sharp_qp_allocation.h"
#include "core/wire/sharp/sharp_qpc_config.h"
#include "core/wire/sharp/sharp_quota_config.h"
#include "core/wire/sharp/sharp_resource_cleanup.h"
#include "core/wire/sharp/sharp_tree_config.h"

namespace softib::sharp {

/// Returns what the aggregation node of a softib switch can do.
wire::SharpAnInfo default_an_info();

class AggregationTables {
  public:
    struct Tree {
        wire::SharpTreeConfig::State state{};
        wire::SharpTreeConfig::Mode mode{};
        wire::SharpTreeConfig::LockMode lock_mode{};
        Qpn parent{};               ///< Queue pair to the parent; 0 if the node is the root.
        std::vector<Qpn> children;  ///< Queue pairs, in the order in which they are reduced.
        friend bool operator==(const Tree&, const Tree&) = default;
    };
    /// What a job may use of a tree at this node.
    struct Quota {
        std::uint32_t max_osts = 0;  ///< Outstanding operations.
        std::uint32_t max_buffers = 0;
        std::uint32_t max_groups = 0;
        friend bool operator==(const Quota&, const Quota&) = default;
    };
    struct Group {
        std::uint32_t job = 0;
        std::uint16_t tree = 0;
        std::set<Qpn> children;
        bool locked = false;  ///< Whether the group may stream through its ports.
        friend bool operator==(const Group&, const Group&) = default;
    };

    /// Makes the tables of a switch with ports 1 to `ports`.
    AggregationTables(const wire::SharpAnInfo& info, std::uint8_t ports)
        : info_(info), ports_(ports) {}

    /// Handles a request and returns the answer; std::nullopt if the MAD is no Get or Set of this
    /// class.
    std::optional<wire::MadBytes> answer(const wire::MadBytes& request);

    /// Returns requests from which restore() makes a copy of these tables.
    std::vector<wire::MadBytes> snapshot() const;
    /// Replaces these tables by those of a snapshot; the counters stay.
    void restore(std::span<const wire::MadBytes> requests);

    const wire::SharpAnInfo& info() const { return info_; }
    const wire::SharpQpcConfig* qp(Qpn qpn) const;
    const std::map<Qpn, wire::SharpQpcConfig>& qps() const { return qps_; }
    const Tree* tree(std::uint16_t id) const;
    const Group* group(std::uint32_t id) const;
    const Quota* quota(std::uint32_t job, std::uint16_t tree) const;
    /// Returns the group's children in the order of the tree.
    std::vector<Qpn> children_of(const Group& group) const;
    const std::map<std::uint16_t, Tree>& trees() const { return trees_; }
    const std::map<std::uint32_t, Group>& groups() const { return groups_; }
    std::size_t qp_count() const { return qps_.size(); }
    /// Returns the LID to which traps would go, as a manager has set it (ClassPortInfo:TrapLID).
    Lid manager_lid() const { return manager_lid_; }
    /// Returns the number of accepted writes.
    std::uint64_t writes() const { return writes_; }

    /// Returns the counters for the code that moves data by these tables.
    wire::SharpPerformanceCounters& counters() { return counters_; }
    const wire::SharpPerformanceCounters& counters() const { return counters_; }
    /// Sets what another process has counted for this node while it moves data by a copy of these
    /// tables. These counts only grow; an answer adds them to counters().
    void set_counted_elsewhere(const wire::SharpPerformanceCounters& counted) {
        elsewhere_ = counted;
    }

    friend bool operator==(const AggregationTables&, const AggregationTables&) = default;

  private:
    std::optional<wire::MadBytes> given_before(const wire::MadBytes& request) const;

    using Data = std::span<std::uint8_t, wire::kSharpDataBytes>;

    // Functions with `data` answer one attribute: they fill `data` and return a MAD status.
    std::uint16_t dispatch(const wire::MadRepr& header, Data data);
    std::uint16_t am_key_info(bool set, Data data);
    Qpn next_qpn();
    std::uint16_t qp_allocation(bool set, Data data);
    std::uint16_t qpc_config(bool set, Data data);
    std::uint16_t tree_config(bool set, Data data);
    std::uint16_t quota_config(bool set, Data data);
    std::uint16_t group_join(bool set, Data data);
    std::uint16_t cleanup(bool set, Data data);
    std::uint16_t performance_counters(bool set, Data data);
    std::uint16_t write_tree(const wire::SharpTreeConfig& wanted);
    std::uint16_t join(const wire::SharpGroupJoin& wanted);
    std::uint16_t lock(const wire::SharpGroupJoin& wanted);
    bool is_free_child(Qpn qpn, std::uint16_t tree) const;
    std::set<std::uint8_t> ports_of(const Group& group) const;
    void forget_tree(std::uint16_t id);
    void forget_job(std::uint32_t job, std::optional<std::uint16_t> tree);

    wire::SharpAnInfo info_;
    std::uint8_t ports_;
    /// Contexts of allocated queue pairs; disabled until the manager writes them.
    std::map<Qpn, wire::SharpQpcConfig> qps_;
    static constexpr std::uint32_t kQpnFirst = 0x100;
    static constexpr std::uint32_t kQpnLast = 0xFFFF;
    Qpn last_qpn_{kQpnFirst - 1};  ///< The QPN that was allocated last.
    std::map<std::uint16_t, Tree> trees_;
    std::map<std::pair<std::uint32_t, std::uint16_t>, Quota> quotas_;  ///< By job and tree.
    std::map<std::uint32_t, Group> groups_;
    wire::SharpPerformanceCounters counters_;
    wire::SharpPerformanceCounters elsewhere_;  ///< See set_counted_elsewhere().
    wire::SharpPerformanceCounters reset_at_;   ///< counters_ + elsewhere_ at the last reset.
    std::uint64_t writes_ = 0;
    std::uint64_t am_key_ = 0;
    Lid manager_lid_{};
    /// A request for queue pairs and its answer: a manager that repeats the request, because the
    /// answer was lost, gets the same queue pairs.
    struct Given {
        wire::MadBytes request{};
        wire::MadBytes answer{};
        friend bool operator==(const Given&, const Given&) = default;
    };
    static constexpr std::size_t kGivenMax = 16;
    std::vector<Given> given_;
};

}  // namespace softib::sharp
