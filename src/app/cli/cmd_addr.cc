// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/launch.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "core/cm/address.h"
#include "runtime/shm/addresses.h"

namespace softib::app {

namespace {

struct Given {
    std::string host;
    std::string device;
    std::string address;
};

struct Listener {
    std::string host;
    std::string space;
    std::string address;
    int port = 0;
};

struct Described {
    std::vector<Given> given;
    std::vector<Listener> listeners;
};

/// Returns the lines with which the daemon describes the fabric. The error is for the user.
std::expected<Described, std::string> describe(const Observer& observer) {
    shm::Message message;
    shm::request::OneFile told;
    const int error = observer.ask(shm::request::CmDescribe{}, message, told);
    const int fd = told.file;
    if (error != 0 || fd < 0) {
        return std::unexpected(why_not(error));
    }
    struct stat st{};
    fstat(fd, &st);
    std::string text(static_cast<std::size_t>(st.st_size), '\0');
    const bool whole = pread(fd, text.data(), text.size(), 0) == st.st_size;
    close(fd);
    if (!whole) {
        return std::unexpected("softibd's answer cannot be read");
    }
    Described out;
    std::istringstream lines(text);
    for (std::string kind; lines >> kind;) {
        if (kind == "address") {
            Given& each = out.given.emplace_back();
            lines >> each.host >> each.device >> each.address;
        } else {
            Listener& each = out.listeners.emplace_back();
            lines >> each.host >> each.space >> each.address >> each.port;
        }
    }
    return out;
}

}  // namespace

int cmd_addr(const AddrOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    const auto described = describe(*observer);
    if (!described) {
        return fail(described.error());
    }
    const shm::Arena& arena = observer->arena();
    nlohmann::ordered_json out{{"ports", nlohmann::ordered_json::array()},
                               {"listeners", nlohmann::ordered_json::array()}};
    Table ports({"HOST", "DEVICE", "ADDRESS", "GID"});
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        const shm::HcaRecord& hca = arena.hcas[i];
        const std::string host = arena.hosts[hca.host].name;
        const std::string address = cm::to_string(shm::address_of_hca(arena, i));
        const std::string gid = to_string(shm::gid_at(hca, 0));
        ports.row({host, hca.name, address, gid});
        out["ports"].push_back(
            {{"host", host}, {"device", hca.name}, {"address", address}, {"gid", gid}});
    }
    for (const Given& each : described->given) {
        ports.row({each.host, each.device, each.address, "-"});
        out["ports"].push_back(
            {{"host", each.host}, {"device", each.device}, {"address", each.address}});
    }
    Table endpoints({"HOST", "LISTENS", "ADDRESS", "PORT"});
    for (const Listener& each : described->listeners) {
        endpoints.row({each.host, each.space, each.address, std::to_string(each.port)});
        out["listeners"].push_back({{"host", each.host},
                                    {"space", each.space},
                                    {"address", each.address},
                                    {"port", each.port}});
    }
    if (options.json) {
        fmt::print("{}", json_text(out));
        return 0;
    }
    fmt::print("{}", ports.text());
    if (!described->listeners.empty()) {
        fmt::print("\n{}", endpoints.text());
    }
    return 0;
}

}  // namespace softib::app
