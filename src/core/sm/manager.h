// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Our subnet manager. It knows the fabric only by MADs: it makes SMPs and takes their answers,
// while its caller moves them and tells it the time. A sweep goes through phases: discover, assign
// LIDs and arm ports, route and write the tables that changed, activate ports. Then the manager
// waits for traps: a trap 128 causes a sweep of the switch that sent it and of the nodes on its
// ports.
//
// Files: manager.cc drives the phases, sweep.cc discovers, routes.cc computes forwarding tables,
// setup.cc writes ports and tables, lids.cc assigns LIDs, keys.cc writes P_Keys, aliases.cc alias
// GUIDs, lanes.cc SL2VL and VL arbitration tables, adaptive.cc adaptive routing; election.cc deals
// with other managers.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/routing/engine.h"
#include "core/routing/verifier.h"
#include "core/sm/lid_map.h"
#include "core/sm/partitions.h"
#include "core/sm/qos.h"
#include "core/sm/smp_client.h"
#include "core/sm/subnet.h"
#include "core/wire/mad/notice.h"
#include "core/wire/sm/sm_info.h"

namespace softib::sm {

struct ManagerConfig {
    Guid port_guid;             ///< GUID of the port that the manager runs on.
    std::uint8_t port = 0;      ///< Number of this port: 0 on a switch.
    std::uint8_t priority = 0;  ///< 0 to 15. The manager with the highest one, then lowest GUID, is
                                ///< master.
    std::uint64_t sm_key = 1;   ///< SM_Key; 1 is OpenSM's default.
    std::uint64_t mkey = 0;
    std::uint8_t mkey_protect_bits = 0;
    std::uint16_t mkey_lease_period = 0;
    std::uint8_t lmc = 0;
    std::string engine = "minhop";
    routing::Options routing;
    std::uint64_t gid_prefix = kSubnetPrefixDefault;
    std::uint8_t subnet_timeout = 18;
    SmpClient::Limits limits;
    std::uint64_t sweep_period_ns = 10'000'000'000;  ///< Time between light sweeps; 0 for none.
    std::uint64_t poll_period_ns = 250'000'000;      ///< Time between polls of a standby's master.
    /// Base LIDs of an earlier run, by port GUID. Those that do not fit this run are dropped.
    std::map<std::uint64_t, Lid> lids;
    /// Positions of hosts, by port GUID, in the order in which programs number them, so that
    /// routing can part the flows of neighbours. Hosts that are not here come after all others.
    std::map<std::uint64_t, std::uint32_t> host_order;
    /// The partitions; std::nullopt to leave P_Key tables as they are, with all ports in the
    /// default partition.
    std::optional<std::vector<Partition>> partitions;
    QosConfig qos;
    /// Whether switches with adaptive routing may choose among ports that the engine found equally
    /// good.
    bool adaptive_routing = false;
};

/// A multicast LID, and the ports that its tree must join.
struct McastTree {
    Lid mlid;
    std::vector<EndPort> members;
};

/// An event of the manager, for its log and for the SA.
struct ManagerEvent {
    enum Kind : std::uint8_t {
        kSubnetUp,       ///< A sweep is over: tables are written, ports active.
        kPortAppeared,   ///< `port` of `node` has got a LID: the SA must send notice 64.
        kPortVanished,   ///< The port `guid` is gone: the SA must send notice 65.
        kTrap,           ///< A node sent `notice`.
        kStateChanged,   ///< The manager became master, standby …: see state().
        kRoutingFailed,  ///< The engine cannot route this subnet, so another does: `text` says why.
        kSilent,         ///< `node` does not answer.
        kWarning,        ///< A setting cannot be met, or the routes are not sound: `text`.
    };
    Kind kind{};
    NodeIndex node = kNoNode;
    std::uint8_t port = 0;
    Guid guid{};
    wire::Notice notice{};
    std::string text{};
};

struct ManagerStats {
    std::uint64_t smps_sent = 0;
    std::uint64_t sweeps_full = 0;
    std::uint64_t sweeps_partial = 0;
    std::uint64_t lft_blocks = 0;
};

class Manager {
  public:
    explicit Manager(ManagerConfig config);

    /// Begins the first sweep.
    void start(std::uint64_t now_ns);
    /// Takes an SMP that arrived for this manager. `slid` is its source if it came by LID.
    void handle(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

    /// An SMP to send from the manager's port: to `dlid`, or by its directed route if `dlid` is the
    /// permissive LID.
    struct Transmit {
        wire::MadBytes mad;
        Lid dlid;
    };
    std::optional<Transmit> poll_transmit(std::uint64_t now_ns);
    std::optional<ManagerEvent> poll_event();

    /// Begins a full sweep, as soon as no other runs.
    void resweep(std::uint64_t now_ns);
    void set_engine(const std::string& engine, std::uint64_t now_ns);
    /// Sets the partitions, and writes the P_Key tables that differ from them.
    void set_partitions(std::vector<Partition> partitions, std::uint64_t now_ns);
    /// Sets the multicast groups, and writes their trees at once or at the end of a sweep that
    /// runs.
    void set_groups(std::vector<McastTree> groups, std::uint64_t now_ns);
    /// Sets the alias GUIDs of all ports, by port GUID; entry 0 of each is unused. Ports that are
    /// not named have none.
    void set_aliases(std::map<Guid, std::vector<Guid>> aliases, std::uint64_t now_ns);
    /// Lowers this manager's priority to 0, and makes the best of the managers that then outrank it
    /// the heir. Returns false, with nothing changed, if there is none or this is not the master.
    /// Once the heir has the data that it needs, the caller must call hand_over_now().
    bool hand_over();
    /// The manager that will take over from this one; std::nullopt if there is none.
    std::optional<Guid> heir() const { return heir_; }
    /// The earliest time for the next hand_over_now().
    std::uint64_t heir_due_ns() const { return heir_due_ns_; }
    /// Sends the heir a HANDOVER. The caller repeats this until the heir is master, since a manager
    /// that still discovers may not take the subnet.
    void hand_over_now(std::uint64_t now_ns);
    void stop();

    wire::SmState state() const { return state_; }
    bool settled() const { return phase_ == Phase::kIdle; }  ///< Whether no sweep runs.
    const Subnet& subnet() const { return subnet_; }
    const ManagerConfig& config() const { return config_; }
    const ManagerStats& stats() const { return stats_; }
    NodeIndex root() const { return root_; }  ///< The node that the manager runs on.
    Lid own_lid() const;
    wire::SmInfo own_info() const;
    const routing::Graph* graph() const { return graph_ ? &*graph_ : nullptr; }
    const routing::Tables& tables() const { return tables_; }
    /// The verifier's report on the tables; nullptr until it has checked them, which it does after
    /// each routing as soon as the tables are written.
    const routing::Report* report() const { return report_ && !verify_due_ ? &*report_ : nullptr; }
    /// Returns the service level that packets from one LID to another must have: `wanted`, as far
    /// as routing leaves the choice.
    std::uint8_t sl(Lid source, Lid destination, std::uint8_t wanted = 0) const;
    /// Base LIDs by port GUID, for the next run.
    const std::map<std::uint64_t, Lid>& lids() const { return config_.lids; }
    /// Returns the LIDs of every port in lids(), in the order of GUIDs.
    std::vector<LidRange> lid_ranges() const;
    /// Another manager of the subnet.
    struct Other {
        wire::SmInfo info;
        EndPort at;
        bool offered = false;  ///< Whether this manager has sent it a HANDOVER.
    };
    const std::map<std::uint64_t, Other>& others() const { return others_; }
    Guid master() const { return Guid{master_guid_}; }  ///< The manager that a standby watches.

  private:
    enum class Phase : std::uint8_t { kIdle, kDiscover, kSetup, kTables, kAdaptive, kActivate };

    // manager.cc
    void enter(Phase phase, std::uint64_t now_ns);
    void schedule_sweep(std::uint64_t now_ns);
    bool may_verify() const {
        return verify_due_ && phase_ == Phase::kIdle && state_ == wire::SmState::kMaster;
    }
    bool may_sweep() const { return phase_ == Phase::kIdle && queue_.empty() && client_.idle(); }
    void advance(std::uint64_t now_ns);
    void answered(const SmpAnswer& answer, std::uint64_t now_ns);
    bool aim(SmpRequest& request);
    void queue(SmpRequest request) { queue_.push_back(std::move(request)); }
    SmpRequest get(Purpose::Kind kind, wire::SmAttribute attribute, const DirectedPath& path,
                   NodeIndex node, std::uint8_t port, std::uint32_t modifier) const;
    void event(ManagerEvent event) { events_.push_back(std::move(event)); }
    void handle_trap(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns);
    void set_state(wire::SmState state);

    // sweep.cc
    void begin_full();
    void begin_partial();
    void read_node(NodeIndex index);
    void read_switch_ports(NodeIndex index);
    void probe(EndPort from);
    void found(const SmpAnswer& answer);
    void got_port_info(const SmpAnswer& answer);
    void doubt(NodeIndex index);
    void got_pkeys(const SmpAnswer& answer);
    void got_switch_info(const SmpAnswer& answer);
    void got_light_sweep(const SmpAnswer& answer);
    void unreachable(const SmpAnswer& answer);
    void end_discovery();

    // lids.cc
    void assign_lids();

    // routes.cc
    bool build_graph();
    std::vector<EndPort> ends_in_order() const;
    void route();
    void verify();
    // setup.cc
    void begin_setup();
    void begin_tables();
    void begin_activate();
    void begin_activate_or_setup(bool activate);
    void setup_port(EndPort end, bool activate);
    std::optional<SmpRequest> next_lft_block();
    void compute_trees();
    void queue_mft(NodeIndex index);

    // keys.cc
    void setup_keys();
    void setup_keys(EndPort end);
    void enforce_keys(EndPort end, const std::vector<PKey>& keys);
    void queue_keys(EndPort end, const std::vector<PKey>& table);

    // aliases.cc
    void setup_aliases();
    void setup_aliases(EndPort end);

    // lanes.cc
    bool routing_needs_lanes() const;
    std::uint8_t common_data_vls() const;
    std::uint8_t data_vls(const SubnetPort& port) const;
    wire::SlToVlMappingTable lanes_of(const SubnetPort& port) const;
    static void forget_lanes(SubnetNode& node);
    void queue_sl_to_vl(NodeIndex index, std::uint32_t rank);
    bool queue_uniform_sl_to_vl(NodeIndex index);
    void queue_port_lanes();
    void queue_host_sl_to_vl(EndPort end);
    void queue_arbitration(EndPort end);

    // adaptive.cc
    void got_adaptive_info(const SmpAnswer& answer);
    void begin_adaptive();
    bool queue_adaptive();
    void queue_adaptive(std::uint32_t rank);
    bool has_private_tables() const;

    // election.cc
    void handle_sm_info(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns);
    std::uint16_t obey(wire::SmInfoControl what, const wire::SmInfo& theirs, std::uint64_t now_ns);
    void take_over_from(Guid guid);
    void got_sm_info(const SmpAnswer& answer, std::uint64_t now_ns);
    void elect(std::uint64_t now_ns);
    void follow(Other& master, std::uint64_t now_ns);
    SmpRequest ask_manager(EndPort at) const;
    void poll_master(std::uint64_t now_ns);
    bool outranks(const wire::SmInfo& other) const;

    ManagerConfig config_;
    SmpClient client_;
    Subnet subnet_;
    NodeIndex root_ = kNoNode;
    wire::SmState state_ = wire::SmState::kDiscovering;
    Phase phase_ = Phase::kIdle;
    std::uint32_t sweep_ = 0;
    bool full_sweep_ = false;
    bool light_sweep_ = false;
    bool full_wanted_ = false;
    bool topology_changed_ = false;
    bool again_ = false;          ///< A request was lost, so another sweep must come before long.
    std::uint64_t again_ns_ = 0;  ///< Wait before that sweep; doubled each time that it fails.
    std::uint64_t again_due_ns_ = UINT64_MAX;
    std::set<NodeIndex> dirty_;         ///< Switches that the next partial sweep reads again.
    std::vector<bool> present_before_;  ///< By node: whether it was present when the sweep began.
    std::deque<SmpRequest> queue_;
    std::deque<Transmit> replies_;
    std::deque<ManagerEvent> events_;
    std::uint64_t next_sweep_ns_ = UINT64_MAX;
    /// The LMC of each port, by port GUID, whose LID in config_.lids was checked in this run.
    std::map<std::uint64_t, std::uint8_t> lid_lmcs_;
    std::unordered_map<std::uint64_t, bool> registered_;  ///< Ports that got ClientReregister.

    std::optional<routing::Graph> graph_;
    routing::Tables tables_;
    std::optional<routing::Report> report_;
    bool verify_due_ = false;  ///< Whether report_ is not about tables_ but about earlier tables.
    std::vector<NodeIndex> switch_of_rank_;
    std::vector<McastTree> groups_;
    bool groups_changed_ = false;  ///< Whether groups_ changed since their trees were computed.
    std::map<Guid, std::vector<Guid>> aliases_;
    bool aliases_changed_ = false;  ///< Whether aliases_ changed since they were written.
    std::vector<std::vector<std::array<std::uint16_t, 16>>> wanted_mft_;  ///< MFT by node.
    std::uint32_t lft_rank_ = 0;       ///< Switch of the next LFT block that must be written.
    std::uint32_t lft_block_ = 0;      ///< Number of that block.
    std::uint32_t adaptive_rank_ = 0;  ///< Next switch whose adaptive routing must be written.

    std::map<std::uint64_t, Other> others_;  ///< Managers by port GUID.
    std::uint64_t master_guid_ = 0;          ///< The master that a standby follows.
    std::optional<Guid> heir_;               ///< The manager that a master hands over to.
    std::uint64_t heir_due_ns_ = 0;
    std::uint32_t silences_ = 0;
    std::uint32_t act_count_ = 0;
    bool stopped_ = true;
    ManagerStats stats_;
};

}  // namespace softib::sm
