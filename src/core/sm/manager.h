// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Our subnet manager. It knows the fabric only by MADs: it makes SMPs and takes their answers,
// while its caller moves them and tells it the time. A sweep goes through phases: discover, assign
// LIDs and arm, route and write what changed, activate. Then it waits for traps: a trap causes a
// sweep of the switch that sent it and of the nodes on its ports.
//
// Files: manager.cc drives the phases, sweep.cc discovers, setup.cc writes ports and forwarding
// tables, lids.cc gives LIDs, keys.cc writes P_Keys, lanes.cc what concerns virtual lanes,
// adaptive.cc lets switches choose, election.cc deals with other managers.

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
#include "core/wire/notice.h"
#include "core/wire/sm_info.h"

namespace softib::sm {

struct ManagerConfig {
    Guid port_guid;             ///< GUID of the port it runs on.
    std::uint8_t port = 0;      ///< Its number: 0 on a switch.
    std::uint8_t priority = 0;  ///< 0 to 15; the higher, then the lower GUID, is master.
    std::uint64_t sm_key = 1;   ///< What OpenSM has by default.
    std::uint64_t mkey = 0;
    std::uint8_t mkey_protect_bits = 0;
    std::uint16_t mkey_lease_period = 0;
    std::uint8_t lmc = 0;
    std::string engine = "minhop";
    routing::Options routing;
    std::uint64_t gid_prefix = kSubnetPrefixDefault;
    std::uint8_t subnet_timeout = 18;
    SmpClient::Limits limits;
    std::uint64_t sweep_period_ns = 10'000'000'000;  ///< Between light sweeps; 0: none.
    std::uint64_t poll_period_ns = 250'000'000;      ///< A standby looks for its master this often.
    /// Base LIDs of an earlier run, by port GUID. What does not fit this run is not kept.
    std::map<std::uint64_t, Lid> lids;
    /// std::nullopt: P_Key tables stay as they are, with all ports in the default partition.
    std::optional<std::vector<Partition>> partitions;
    QosConfig qos;
    /// Lets switches that can choose among the ports that the engine found equally good.
    bool adaptive_routing = false;
};

/// What a multicast group needs of the fabric: its LID and the ports that have joined.
struct McastTree {
    Lid mlid;
    std::vector<EndPort> members;
};

/// An event of the manager, for its log and for the SA.
struct ManagerEvent {
    enum Kind : std::uint8_t {
        kSubnetUp,       ///< A sweep is over: tables are written, ports active.
        kPortAppeared,   ///< `node`, `port`: notice 64 is due.
        kPortVanished,   ///< `guid`: notice 65 is due.
        kTrap,           ///< `notice` came from a node.
        kStateChanged,   ///< Master, standby, ...: see state().
        kRoutingFailed,  ///< `text`: the engine refused; another was taken.
        kSilent,         ///< `node` does not answer.
        kWarning,        ///< `text`: something that was asked for cannot be, or routes do not hold.
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
    /// A subnet management packet that arrived for this manager; from `slid` if it came by LID.
    void handle(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

    /// What to send from the manager's port: to a LID where `dlid` is not permissive.
    struct Transmit {
        wire::MadBytes mad;
        Lid dlid;
    };
    std::optional<Transmit> poll_transmit(std::uint64_t now_ns);
    std::optional<ManagerEvent> poll_event();

    void resweep(std::uint64_t now_ns);
    void set_engine(const std::string& engine, std::uint64_t now_ns);
    /// Partitions that hold from now on: P_Key tables are written anew where they differ.
    void set_partitions(std::vector<Partition> partitions, std::uint64_t now_ns);
    /// Groups that exist from now on; their trees are written in the next sweep or at once.
    void set_groups(std::vector<McastTree> groups, std::uint64_t now_ns);
    /// Alias GUIDs by the ports' own, entry 0 unused; ports that are not named have none.
    void set_aliases(std::map<Guid, std::vector<Guid>> aliases, std::uint64_t now_ns);
    /// Gives up its own priority and hands the subnet to another manager, if one is there that has
    /// the better claim then. The best of those becomes the heir; once it has all it needs,
    /// hand_over_now() is due, again and again, since one that is still discovering may not take
    /// it.
    bool hand_over();
    std::optional<Guid> heir() const { return heir_; }
    std::uint64_t heir_due_ns() const { return heir_due_ns_; }  ///< Not before this.
    void hand_over_now(std::uint64_t now_ns);
    void stop();

    wire::SmState state() const { return state_; }
    bool settled() const { return phase_ == Phase::kIdle; }
    const Subnet& subnet() const { return subnet_; }
    const ManagerConfig& config() const { return config_; }
    const ManagerStats& stats() const { return stats_; }
    NodeIndex root() const { return root_; }
    Lid own_lid() const;
    wire::SmInfo own_info() const;
    const routing::Graph* graph() const { return graph_ ? &*graph_ : nullptr; }
    const routing::Tables& tables() const { return tables_; }
    /// What the verifier says of the tables. None until it has looked, which it does after each
    /// routing as soon as the tables are written.
    const routing::Report* report() const { return report_ && !verify_due_ ? &*report_ : nullptr; }
    std::uint8_t sl(Lid source, Lid destination) const;
    /// Base LIDs by port GUID, for the next run.
    const std::map<std::uint64_t, Lid>& lids() const { return config_.lids; }
    std::vector<LidRange> lid_ranges() const;  ///< The same by GUID.
    struct Other {
        wire::SmInfo info;
        EndPort at;
        bool offered = false;  ///< The subnet, to take it over.
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

    // setup.cc
    bool build_graph();
    void route();
    void verify();
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
    bool again_ = false;          ///< Something could not be written: sweep again before long.
    std::uint64_t again_ns_ = 0;  ///< How long to wait; longer every time in vain.
    std::uint64_t again_due_ns_ = UINT64_MAX;
    std::set<NodeIndex> dirty_;         ///< Switches to look at again.
    std::vector<bool> present_before_;  ///< By node, when the sweep began.
    std::deque<SmpRequest> queue_;
    std::deque<Transmit> replies_;
    std::deque<ManagerEvent> events_;
    std::uint64_t next_sweep_ns_ = UINT64_MAX;
    /// By port GUID: its LIDs in config_.lids are its own, 2^value of them.
    std::map<std::uint64_t, std::uint8_t> lid_lmcs_;
    std::unordered_map<std::uint64_t, bool> registered_;  ///< Port GUIDs told to register again.

    std::optional<routing::Graph> graph_;
    routing::Tables tables_;
    std::optional<routing::Report> report_;
    bool verify_due_ = false;  ///< The report is of other tables.
    std::vector<NodeIndex> switch_of_rank_;
    std::vector<McastTree> groups_;
    bool groups_changed_ = false;  ///< Since their trees were computed.
    std::map<Guid, std::vector<Guid>> aliases_;
    bool aliases_changed_ = false;  ///< Since they were written.
    std::vector<std::vector<std::array<std::uint16_t, 16>>> wanted_mft_;  ///< By node.
    std::uint32_t lft_rank_ = 0;  ///< Cursor over the LFT blocks that must be written.
    std::uint32_t lft_block_ = 0;
    std::uint32_t adaptive_rank_ = 0;  ///< The same for adaptive routing.

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
