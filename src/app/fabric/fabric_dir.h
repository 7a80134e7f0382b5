// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Where fabrics live: one directory per fabric below a base directory of the user's own. The
// name of the directory is the name of the fabric, and everything it needs to be found, joined,
// restarted and removed is in it.
//
//   fabric.toml    the description it was started with
//   fabric.net     the fabric itself, if it came from a file (softib up --from)
//   softibd.pid    the daemon's pid; locked (flock) as long as the daemon lives
//   softibd.version  its version
//   softibd.sock   where programs attach
//   softibd.log    what the daemon did; softibd.1.log what it did before
//   proc/          one directory per attached process, for its event channels
//   sm/            the files of OpenSM, if it is the subnet manager (softib up --sm opensm)
//   telemetry/     history, lock and log of telemetry (softib up --telemetry, softib serve)
//   hosts/         the /sys and /dev of each host that was used

#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/fabric_name.h"

namespace softib::app {

inline constexpr char kDescriptionName[] = "fabric.toml";
inline constexpr char kNetlistName[] = "fabric.net";
inline constexpr char kPartitionsName[] = "partitions.conf";
inline constexpr char kLogName[] = "softibd.log";
inline constexpr char kOldLogName[] = "softibd.1.log";
inline constexpr char kHostsDirName[] = "hosts";
inline constexpr char kManagerDirName[] = "sm";
inline constexpr char kTelemetryDirName[] = "telemetry";
inline constexpr char kPrivatePrefix[] = "run-";  ///< Names of fabrics that `softib run` makes.

struct FabricRef {
    std::string name;
    std::string dir;
};

/// $SOFTIB_RUNTIME_DIR, else $XDG_RUNTIME_DIR/softib, else /tmp/softib-UID. It is made with mode
/// 0700 if it is missing, and refused if another user owns it or may write to it.
std::expected<std::string, std::string> base_dir();

/// Returns the fabric that a command makes: the one it names, else $SOFTIB_FABRIC, else "default".
/// Inside `softib exec` and `softib run`, $SOFTIB_DIR says where $SOFTIB_FABRIC lives.
std::expected<FabricRef, std::string> resolve_fabric(const std::optional<std::string>& name);

/// The fabric that a command means which needs one that is up: the same, but where nobody names one
/// and "default" is not up, the only one that is. Those of `softib run` count where there are no
/// others. The error names those among which the user has to choose.
std::expected<FabricRef, std::string> find_fabric(const std::optional<std::string>& name);

/// The fabrics whose daemons take connections, by name.
std::vector<FabricRef> running_fabrics();

/// " (up: lab, two)", for a message about one that is not; empty where none is.
std::string others_up();

/// Every fabric directory below the base, dead ones included, by name.
std::expected<std::vector<FabricRef>, std::string> list_fabrics();

/// Keeps two `softib up` from working on one base directory at once; released with the process.
std::expected<int, std::string> lock_base_dir();

/// Takes the daemon's lock and writes its pid. The descriptor holds the lock. The error says who
/// holds it.
std::expected<int, std::string> lock_fabric(const FabricRef& fabric);

/// What a daemon says of itself in its files.
struct DaemonRecord {
    pid_t pid = 0;        ///< Pid of the living daemon; 0: there is none.
    std::string version;  ///< As own_version() writes it; empty: older than that.
    int error = 0;        ///< Not 0: they are there and cannot be read.
};
DaemonRecord read_daemon_record(const FabricRef& fabric);
/// "softib 0.1.0, protocol 3, arena 9": the same where a program and a daemon understand each
/// other.
std::string own_version();

/// The pid of the living daemon; 0: there is none.
pid_t daemon_pid(const FabricRef& fabric);

/// Removes what a daemon that died left, but for the directories of programs that may live on.
void remove_leftovers(const FabricRef& fabric);

/// Removes what softib put into the directory, then the directory. Files of others stay, and
/// then the directory does too.
void remove_fabric(const FabricRef& fabric);

}  // namespace softib::app
