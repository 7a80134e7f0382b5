// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The directories of running fabrics: one for each fabric, below a base directory that belongs to
// the user. The name of the directory is the name of the fabric. It has everything that is needed
// to find, join, restart and remove the fabric.
//
//   fabric.toml    the description that the fabric was started with
//   fabric.net     its nodes and cables, if they came from a file (softib up --from)
//   partitions.conf  its partitions, if there are others than the default
//   softibd.pid    the daemon's pid; locked (flock) as long as the daemon lives
//   softibd.version  the daemon's version
//   softibd.sock   the socket where programs attach
//   softibd.log    the daemon's log; softibd.1.log has the lines before it
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
inline constexpr char kPrivatePrefix[] = "run-";  ///< Begins names of fabrics of `softib run`.

struct FabricRef {
    std::string name;
    std::string dir;
};

/// Returns the base directory: $SOFTIB_RUNTIME_DIR, else $XDG_RUNTIME_DIR/softib, else
/// /tmp/softib-UID. Makes it with mode 0700 if it is missing, and refuses it if another user owns
/// it or may write to it.
std::expected<std::string, std::string> base_dir();

/// Returns the fabric that a command makes: the one it names, else $SOFTIB_FABRIC, else "default".
/// Inside `softib exec` and `softib run`, $SOFTIB_DIR says where $SOFTIB_FABRIC lives.
std::expected<FabricRef, std::string> resolve_fabric(const std::optional<std::string>& name);

/// Returns the fabric for a command that needs one that is up: that of resolve_fabric(); but if
/// nothing names a fabric and "default" is not up, the only one that is up. Fabrics of `softib run`
/// count only if no others are up. The error names the fabrics among which the user has to choose.
std::expected<FabricRef, std::string> find_fabric(const std::optional<std::string>& name);

/// Returns the fabrics whose daemons take connections, sorted by name.
std::vector<FabricRef> running_fabrics();

/// Returns " (up: lab, two)", for a message about a fabric that is not up; empty if none is up.
std::string others_up();

/// Returns all fabrics below the base directory, sorted by name, with those whose daemon is dead.
std::expected<std::vector<FabricRef>, std::string> list_fabrics();

/// Waits for the lock that keeps two `softib up` from working on one base directory at once.
/// Returns the descriptor that holds the lock.
std::expected<int, std::string> lock_base_dir();

/// Takes the daemon's lock for this process, and writes its pid and version. Returns the descriptor
/// that holds the lock. The error names the daemon that holds it already.
std::expected<int, std::string> lock_fabric(const FabricRef& fabric);

/// What a daemon has written about itself into files of the fabric's directory.
struct DaemonRecord {
    pid_t pid = 0;        ///< Pid of the living daemon; 0: there is none.
    std::string version;  ///< As own_version() returns it; empty: a daemon that wrote none.
    int error = 0;        ///< Errno value if the files cannot be read; 0 if they are missing.
};
DaemonRecord read_daemon_record(const FabricRef& fabric);
/// Returns "softib 0.1.0, protocol 3, arena 9". A program and a daemon understand each other only
/// if their texts are equal.
std::string own_version();

/// Returns the pid of the living daemon; 0 if there is none.
pid_t daemon_pid(const FabricRef& fabric);

/// Removes the files that a dead daemon left, except those of attached programs, which may still
/// run, and of telemetry.
void remove_leftovers(const FabricRef& fabric);

/// Removes what softib put into the directory, then the directory. If it has other files, they and
/// the directory stay.
void remove_fabric(const FabricRef& fabric);

}  // namespace softib::app
