// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subcommands of `softib`, one file each (cmd_*.cc). cli.cc turns the command line into
// these structures; a command returns the exit status of the program.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/asked.h"
#include "spec/description.h"

namespace softib::app {

/// A description as the command line gives it: a file, then single keys in the order given.
struct FabricFlags {
    std::string config;
    std::vector<std::pair<std::string, std::string>> keys;

    bool empty() const { return config.empty() && keys.empty(); }
};

/// Returns `description` with the keys of the file and of the flags applied to it; flags win over
/// the file. The error is for the user.
std::expected<spec::Description, std::string> describe(const FabricFlags& flags,
                                                       spec::Description description = {});

/// Prints why a description is refused. Returns the exit status: 2 if the message begins with a
/// flag, since the command line is wrong then, else 1.
[[nodiscard]] int fail_describing(const std::string& message);

/// Tells the user what the reader of a topology file (softib up --from) left out.
void note_warnings(const topo::Fabric& graph);

/// Returns the fabric of a description. The error, for the user, says that it has no host to run
/// programs on, or cannot be built.
std::expected<topo::Fabric, std::string> generate_to_run(const spec::Description& description);

struct UpOptions {
    std::optional<std::string> name;
    FabricFlags flags;
    bool foreground = false;
    bool json = false;
};
int cmd_up(const UpOptions& options);

struct DownOptions {
    std::vector<std::string> names;  ///< Empty: the fabric that other commands would choose.
    bool all = false;
    bool json = false;
};
int cmd_down(const DownOptions& options);

struct ListOptions {
    bool json = false;
};
int cmd_list(const ListOptions& options);

struct StatusOptions {
    std::optional<std::string> fabric;
    bool verbose = false;
    bool json = false;
};
int cmd_status(const StatusOptions& options);

struct AddrOptions {
    std::optional<std::string> fabric;
    bool json = false;
};
int cmd_addr(const AddrOptions& options);

struct TopoOptions {
    std::optional<std::string> fabric;
    FabricFlags flags;  ///< A description to draw; empty: a running fabric is drawn.
    std::string dot;
    std::string svg;
    std::string ibnetdiscover;
    std::string ibsim;
    bool report = false;           ///< Print numbers instead of a picture.
    std::uint32_t rack_hosts = 0;  ///< Hosts in a rack, for the report; 0: the report chooses.
    bool json = false;
};
int cmd_topo(const TopoOptions& options);

struct ExecOptions {
    std::optional<std::string> fabric;
    std::string host;
    bool use_namespace = false;
    bool rsockets = false;
    bool enforce_memlock = false;
    bool json = false;
    bool real_hostname = false;
    std::vector<std::string> command;
};
int cmd_exec(const ExecOptions& options);

/// `softib am`: becomes the aggregation manager of a fabric, on a host.
struct AmOptions {
    ExecOptions where;
    std::string key;  ///< The AM_Key; empty: none.
    bool once = false;
};
int cmd_am(AmOptions options);
int cmd_env(const ExecOptions& options);

struct RunOptions {
    FabricFlags flags;
    bool use_namespace = false;
    bool enforce_memlock = false;
    bool json = false;
    bool real_hostname = false;
    std::vector<std::string> command;
};
int cmd_run(const RunOptions& options);

struct MpirunOptions {
    std::optional<std::string> fabric;
    std::optional<std::uint32_t> ranks;  ///< std::nullopt: one rank for each host.
    std::string mpi;                     ///< "openmpi" or "mpich"; empty: the program's own.
    bool json = false;
    bool real_hostname = false;
    std::vector<std::string> command;
};
int cmd_mpirun(const MpirunOptions& options);
/// Enters the host of this process's rank and becomes the program. An MPI's launcher starts this
/// command (`softib mpi-rank`) in place of the program.
int cmd_mpi_rank(const MpirunOptions& options);

struct RouteOptions {
    std::optional<std::string> fabric;
    std::string action;
    std::string switch_name;
    std::string lid;
    std::string port;
    bool json = false;
};
int cmd_route(const RouteOptions& options);

struct RoutesOptions {
    std::optional<std::string> fabric;
    std::string action;     ///< "check" or "dump".
    std::string directory;  ///< The directory that "dump" writes to.
    bool all = false;       ///< Whether "check" counts traffic of switches themselves too.
    bool permutations = false;
    std::string ranks;  ///< The file with the order of hosts in permutations.
    bool json = false;
};
int cmd_routes(const RoutesOptions& options);

struct LinkOptions {
    std::optional<std::string> fabric;
    std::string action;
    std::string node;
    std::optional<std::uint32_t> port;
    bool json = false;
};
int cmd_link(const LinkOptions& options);

struct FaultOptions {
    std::optional<std::string> fabric;
    std::string link;     ///< NODE:PORT; empty: the command lists the faults that were set.
    std::string drop;     ///< The part of packets that is lost: "1e-4", "0.01%".
    std::string corrupt;  ///< The part of packets that is corrupted: "1e-4", "0.01%".
    std::string delay;    ///< The delay of each packet: "10us".
    std::string rate;     ///< The link's rate: "10G", or "0" for its own.
    bool clear = false;
    bool json = false;
};
int cmd_fault(const FaultOptions& options);

struct CaptureOptions {
    std::optional<std::string> fabric;
    std::vector<std::string> ports;  ///< NODE:PORT; empty: what all HCAs send is captured.
    std::string file;                ///< The pcap file; "-": standard output.
    std::uint32_t snap_bytes = 65535;
    std::optional<std::uint64_t> count;  ///< Stop after this many packets; std::nullopt: never.
    bool bare = false;                   ///< Write link type 247, which Wireshark does not know.
    bool json = false;
};
int cmd_capture(const CaptureOptions& options);

/// The command lines of `softib telemetry` and `softib serve`.
struct TelemetryCommand {
    std::optional<std::string> fabric;
    std::optional<std::string> umad;
    std::string recording;  ///< The file that a simulation recorded.
    std::string history;
    std::string history_max;
    std::string rules;
    std::string sysfs;
    bool serve = false;
    std::string port;
    std::string address;
    std::string cert;
    std::string key;
    std::vector<std::string> names;
    bool allow_control = false;
    std::string exporter;
    std::string counters;
    bool json = false;
};
int cmd_telemetry(const TelemetryCommand& command);

struct HealthOptions {
    std::optional<std::string> fabric;
    std::string compare;              ///< A file with the topology as it should be.
    std::optional<std::string> umad;  ///< The HCA whose subnet is read by MADs.
    bool json = false;
};
int cmd_health(const HealthOptions& options);

struct LogOptions {
    std::optional<std::string> fabric;
    std::optional<std::uint32_t> lines;  ///< How many of the last lines; std::nullopt: all.
    bool follow = false;
    bool json = false;
};
int cmd_log(const LogOptions& options);

struct SimOptions {
    run::Asked asked;     ///< The file and all flags, but those of the fabric.
    FabricFlags flags;    ///< The flags of the fabric.
    bool schema = false;  ///< Print the schema of scenarios, and nothing else.
};
int cmd_sim(const SimOptions& options);

struct SwitchOptions {
    std::optional<std::string> fabric;
    std::string action;  ///< "kill" or "revive".
    std::string name;
    bool json = false;
};
int cmd_switch(const SwitchOptions& options);

struct SmOptions {
    std::optional<std::string> fabric;
    std::string action;  ///< "status", "resweep" or "handover".
    bool json = false;
};
int cmd_sm(const SmOptions& options);

struct SharpOptions {
    std::optional<std::string> fabric;
    std::string action;  ///< "status", "trees" or "jobs".
    bool json = false;
    std::string dot;  ///< The file for a drawing of the trees (Graphviz); empty: none.
    std::string svg;  ///< The file for a drawing of the trees (SVG); empty: none.
};
int cmd_sharp(const SharpOptions& options);

}  // namespace softib::app
