// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The tables of an aggregation node, the part of a switch that reduces, and what it answers to the
// manager that writes them (class 0x0B): queue pairs, trees, quotas of jobs, groups, and the locks
// that a group takes on the ports through which it streams. A request that is wrong in any part
// changes nothing, and a Set without the key that the manager gave the node is wrong. What moves
// data by these tables only reads them.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/sharp_an_info.h"
#include "core/wire/sharp_group_join.h"
#include "core/wire/sharp_performance_counters.h"
#include "core/wire/sharp_qp_allocation.h"
#include "core/wire/sharp_qpc_config.h"
#include "core/wire/sharp_quota_config.h"
#include "core/wire/sharp_resource_cleanup.h"
#include "core/wire/sharp_tree_config.h"

namespace softib::sharp {

/// The node of our switches.
wire::SharpAnInfo default_an_info();

class AggregationTables {
  public:
    struct Tree {
        wire::SharpTreeConfig::State state{};
        wire::SharpTreeConfig::Mode mode{};
        wire::SharpTreeConfig::LockMode lock_mode{};
        Qpn parent{};               ///< 0: the node is the root.
        std::vector<Qpn> children;  ///< In the order in which they are reduced.
        friend bool operator==(const Tree&, const Tree&) = default;
    };
    struct Quota {
        std::uint32_t max_osts = 0;
        std::uint32_t max_buffers = 0;
        std::uint32_t max_groups = 0;
        friend bool operator==(const Quota&, const Quota&) = default;
    };
    struct Group {
        std::uint32_t job = 0;
        std::uint16_t tree = 0;
        std::set<Qpn> children;
        bool locked = false;
        friend bool operator==(const Group&, const Group&) = default;
    };

    /// The node of a switch with ports 1 to `ports`.
    AggregationTables(const wire::SharpAnInfo& info, std::uint8_t ports)
        : info_(info), ports_(ports) {}

    /// Returns the answer; std::nullopt if the MAD is no request of this class.
    std::optional<wire::MadBytes> answer(const wire::MadBytes& request);

    /// Requests that make tables like these of others, see restore().
    std::vector<wire::MadBytes> snapshot() const;
    /// Makes these tables those of a snapshot; the counters stay.
    void restore(std::span<const wire::MadBytes> requests);

    const wire::SharpAnInfo& info() const { return info_; }
    const wire::SharpQpcConfig* qp(Qpn qpn) const;
    const std::map<Qpn, wire::SharpQpcConfig>& qps() const { return qps_; }
    const Tree* tree(std::uint16_t id) const;
    const Group* group(std::uint32_t id) const;
    const Quota* quota(std::uint32_t job, std::uint16_t tree) const;
    /// The group's children in the order of the tree.
    std::vector<Qpn> children_of(const Group& group) const;
    const std::map<std::uint16_t, Tree>& trees() const { return trees_; }
    const std::map<std::uint32_t, Group>& groups() const { return groups_; }
    std::size_t qp_count() const { return qps_.size(); }
    /// Where traps would go: the LID of a manager that has said so (ClassPortInfo:TrapLID).
    Lid manager_lid() const { return manager_lid_; }
    /// Counts accepted writes.
    std::uint64_t writes() const { return writes_; }

    /// For those who move data by these tables.
    wire::SharpPerformanceCounters& counters() { return counters_; }
    const wire::SharpPerformanceCounters& counters() const { return counters_; }
    /// What others have counted for this node, who move its data by a copy of these tables. It only
    /// grows; an answer has both.
    void set_counted_elsewhere(const wire::SharpPerformanceCounters& counted) {
        elsewhere_ = counted;
    }

    friend bool operator==(const AggregationTables&, const AggregationTables&) = default;

  private:
    std::optional<wire::MadBytes> given_before(const wire::MadBytes& request) const;

    using Data = std::span<std::uint8_t, wire::kSharpDataBytes>;

    // Each fills `data` with the answer and returns a MAD status.
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
    std::map<Qpn, wire::SharpQpcConfig> qps_;  ///< Allocated; disabled until they are written.
    static constexpr std::uint32_t kQpnFirst = 0x100;
    static constexpr std::uint32_t kQpnLast = 0xFFFF;
    Qpn last_qpn_{kQpnFirst - 1};  ///< The last that was allocated.
    std::map<std::uint16_t, Tree> trees_;
    std::map<std::pair<std::uint32_t, std::uint16_t>, Quota> quotas_;  ///< By job and tree.
    std::map<std::uint32_t, Group> groups_;
    wire::SharpPerformanceCounters counters_;
    wire::SharpPerformanceCounters elsewhere_;
    wire::SharpPerformanceCounters reset_at_;  ///< Both together, at the last reset.
    std::uint64_t writes_ = 0;
    std::uint64_t am_key_ = 0;
    Lid manager_lid_{};
    /// The last queue pairs that were given, by request: who repeats it, because the answer was
    /// lost, gets the same ones.
    struct Given {
        wire::MadBytes request{};
        wire::MadBytes answer{};
        friend bool operator==(const Given&, const Given&) = default;
    };
    static constexpr std::size_t kGivenMax = 16;
    std::vector<Given> given_;
};

}  // namespace softib::sharp
