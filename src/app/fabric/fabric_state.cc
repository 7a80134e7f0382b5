// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/fabric_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace softib::app {

namespace {

bool is_exhausted(int error) {
    return error == EMFILE || error == ENFILE;
}

std::string daemon_name(const FabricRef& fabric, const DaemonRecord& record) {
    return fmt::format("softibd of fabric '{}' (pid {})", fabric.name, record.pid);
}

std::string how_to_end(const FabricRef& fabric) {
    return fmt::format("end it with: softib down {}", fabric.name);
}

/// Returns whether a signal or a debugger has stopped the process.
bool is_stopped(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(in, text);
    const std::size_t name_end = text.rfind(") ");
    return name_end != std::string::npos && name_end + 2 < text.size() &&
           (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

FabricTrouble exhausted_here(const FabricRef& fabric, int error) {
    return {FabricState::kExhausted,
            fmt::format("cannot ask for fabric '{}': {}", fabric.name, std::strerror(error)),
            error == EMFILE ? "this process may open no more (ulimit -n)"
                            : "this machine can open no more (sysctl fs.file-max)"};
}

FabricTrouble no_daemon(const FabricRef& fabric) {
    const std::string description = fabric.dir + "/" + kDescriptionName;
    if (access(description.c_str(), F_OK) == 0) {
        return {FabricState::kDead, fmt::format("softibd of fabric '{}' is gone", fabric.name),
                fmt::format("restart it with: softib up {}", fabric.name)};
    }
    return {FabricState::kNone, fmt::format("no fabric '{}' is up{}", fabric.name, others_up()),
            "start it with: softib up" + (fabric.name == "default" ? "" : " " + fabric.name)};
}

FabricTrouble silent(const FabricRef& fabric, const DaemonRecord& record) {
    const bool stopped = is_stopped(record.pid);
    return {FabricState::kSilent,
            daemon_name(fabric, record) + " does not answer" + (stopped ? " (it is stopped)" : ""),
            (stopped ? fmt::format("let it go on with: kill -CONT {}, or ", record.pid) : "") +
                how_to_end(fabric)};
}

FabricTrouble other_version(const FabricRef& fabric, const DaemonRecord& record) {
    return {FabricState::kOtherVersion,
            fmt::format("{} is of another version ({}; this is {})", daemon_name(fabric, record),
                        record.version.empty() ? "an older softib" : record.version, own_version()),
            how_to_end(fabric)};
}

}  // namespace

const char* to_string(FabricState state) {
    switch (state) {
        case FabricState::kUp:
            return "up";
        case FabricState::kNone:
            return "none";
        case FabricState::kDead:
            return "dead";
        case FabricState::kSilent:
            return "does not answer";
        case FabricState::kOtherVersion:
            return "other version";
        case FabricState::kExhausted:
            return "out of descriptors";
        case FabricState::kForeign:
            return "another user's";
        case FabricState::kUnreachable:
            break;
    }
    return "unreachable";
}

FabricTrouble look_at_daemon(const FabricRef& fabric) {
    const DaemonRecord record = read_daemon_record(fabric);
    if (is_exhausted(record.error)) {
        return exhausted_here(fabric, record.error);
    }
    if (record.error == EACCES || record.error == EPERM) {
        return {FabricState::kForeign,
                fmt::format("fabric '{}' in {} belongs to another user", fabric.name, fabric.dir),
                ""};
    }
    if (record.pid == 0) {
        return no_daemon(fabric);
    }
    return record.version == own_version() ? FabricTrouble{} : other_version(fabric, record);
}

FabricTrouble explain(const FabricRef& fabric, int error, bool told) {
    if (is_exhausted(error) && !told) {
        return exhausted_here(fabric, error);
    }
    if (FabricTrouble known = look_at_daemon(fabric); known.state != FabricState::kUp) {
        return known;
    }
    const DaemonRecord record = read_daemon_record(fabric);
    const std::string who = daemon_name(fabric, record);
    if (error == EPERM || error == EACCES) {
        return {FabricState::kForeign,
                fmt::format("fabric '{}' in {} belongs to another user", fabric.name, fabric.dir),
                ""};
    }
    if (is_exhausted(error) || error == EUSERS) {
        return {FabricState::kExhausted,
                who + (error == EUSERS ? " takes no more connections" : " has no descriptor left"),
                "end some of its programs"};
    }
    if (error == EPROTO || error == EPROTONOSUPPORT) {
        return other_version(fabric, record);
    }
    if (error == EAGAIN) {
        return silent(fabric, record);
    }
    return {FabricState::kUnreachable, fmt::format("{}: {}", who, std::strerror(error)),
            fmt::format("see: softib log {}", fabric.name)};
}

}  // namespace softib::app
