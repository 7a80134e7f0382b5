// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/routes_dump.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include "core/routing/route_walk.h"
#include "core/topo/graph.h"
#include "view/names.h"

namespace softib::app {

namespace {

using routing::Target;
using shm::NodeRef;

constexpr std::uint32_t kLanesPerLink = 4;
constexpr char kPathSlName[] = "opensm-path-sl.dump";

/// One end of a cable.
struct End {
    NodeRef node;
    std::uint32_t port;
};

class Dumper {
  public:
    Dumper(const shm::Arena& arena, const view::Routes& routes)
        : arena_(arena), routes_(routes), graph_(routes.graph) {}

    void subnet(std::FILE* out) const {
        for (std::uint32_t i = 0; i < arena_.header->hcas; ++i) {
            const shm::HcaRecord& hca = arena_.hcas[i];
            if (hca.peer_switch != UINT32_MAX) {
                cable(out, {{NodeRef::kHca, i}, 1},
                      {{NodeRef::kSwitch, hca.peer_switch}, hca.peer_port});
            }
        }
        for (std::uint32_t sw = 0; sw < arena_.header->switches; ++sw) {
            for (std::uint32_t p = 1; p < arena_.switches[sw].port_count; ++p) {
                const shm::SwitchPortRecord& port = port_of(sw, p);
                if (port.peer.kind != NodeRef::kNone) {
                    cable(out, {{NodeRef::kSwitch, sw}, p}, {port.peer, port.peer_port});
                }
            }
        }
    }

    void unicast(std::FILE* out) const {
        const std::size_t switches = graph_.switch_count();
        std::vector<std::vector<std::uint32_t>> shortest(switches);
        for (std::uint32_t sw = 0; sw < switches; ++sw) {
            shortest[sw] = routing::hops_from(graph_, sw);
        }
        // By LID and switch: number of cables to the end port; 0xFF if there is no path.
        std::vector<std::uint8_t> hops((graph_.lid_max().value + std::size_t{1}) * switches, 0xFF);
        const routing::PortMap ports(graph_);
        routing::RouteWalk walk(graph_, routes_.tables.lfts, ports);
        graph_.for_each_lid([&](const Target& target, Lid lid) {
            walk.to(target, lid);
            for (const std::uint32_t sw : walk.reached()) {
                hops[lid.value * switches + sw] = static_cast<std::uint8_t>(
                    std::min(walk.hops(sw) + (target.is_switch() ? 0U : 1U), 0xFEU));
            }
        });
        for (std::uint32_t sw = 0; sw < switches; ++sw) {
            fmt::print(out, "dump_ucast_routes: Switch 0x{:016x}\nLID    : Port : Hops : Optimal\n",
                       graph_.guid(sw).value);
            graph_.for_each_lid([&](const Target& target, Lid lid) {
                const std::uint32_t taken = hops[lid.value * switches + sw];
                const std::uint32_t best = shortest[target.at][sw] + (target.is_switch() ? 0U : 1U);
                const std::uint8_t port = routes_.tables.lfts.at(sw, lid);
                if (port == routing::kNoPath) {
                    fmt::print(out, "0x{:04X} : UNREACHABLE\n", lid.value);
                } else {
                    fmt::print(out, "0x{:04X} : {:03}  : {:02}   : {}\n", lid.value, port, taken,
                               taken == best ? "yes" : "no");
                }
            });
            fmt::print(out, "\n");
        }
    }

    void multicast(std::FILE* out) const {
        std::uint32_t at = routing::kNone;
        for (const shm::RouteFile::Multicast& entry : routes_.multicast) {
            if (entry.sw != at) {
                fmt::print(out, "{}Switch 0x{:016x}\nLID    : Out Port(s)\n",
                           at == routing::kNone ? "" : "\n", graph_.guid(entry.sw).value);
                at = entry.sw;
            }
            fmt::print(out, "0x{:04X} :", entry.mlid);
            for (std::uint32_t port = 0; port < entry.ports.size() * 16; ++port) {
                if ((entry.ports[port / 16] >> port % 16 & 1) != 0) {
                    fmt::print(out, " 0x{:03X} ", port);
                }
            }
            fmt::print(out, "\n");
        }
    }

    void lanes(std::FILE* out) const {
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            const shm::SwitchRecord& record = arena_.switches[sw];
            fmt::print(out,
                       "Switch 0x{:016x}, base LID {}, \"{}\"\n"
                       "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n",
                       record.node_guid, record.lid.load(), record.name);
            for (std::uint32_t to = 1; to < record.port_count; ++to) {
                for (std::uint32_t in = 0; in < record.port_count; ++in) {
                    fmt::print(out, "{:<3} {:<3} :", in, to);
                    for (const std::uint8_t vl : routes_.lanes.row(
                             sw, static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(to))) {
                        fmt::print(out, " {:<2}", vl);
                    }
                    fmt::print(out, "\n");
                }
            }
            fmt::print(out, "\n");
        }
    }

    void service_levels(std::FILE* out) const {
        for (std::uint32_t i = 0; i < arena_.header->hcas; ++i) {
            const shm::HcaRecord& hca = arena_.hcas[i];
            const std::uint32_t from = graph_.target_of(Lid{hca.lid.load()});
            if (from == routing::kNone) {
                continue;
            }
            fmt::print(out, "Channel Adapter 0x{:016x}, base LID {}, \"{}\"\n# LID  : SL\n",
                       hca.node_guid, hca.lid.load(), description({NodeRef::kHca, i}));
            graph_.for_each_lid([&](const Target& target, Lid lid) {
                if (!target.is_switch()) {
                    fmt::print(out, "0x{:04X} : {}\n", lid.value,
                               routes_.tables.sls.at(graph_.targets()[from].at, target.at));
                }
            });
            fmt::print(out, "\n");
        }
    }

  private:
    const shm::SwitchPortRecord& port_of(std::uint32_t sw, std::uint32_t port) const {
        return arena_.switch_ports[arena_.switches[sw].port_first + port];
    }

    PortState state(const End& end) const {
        return end.node.kind == NodeRef::kHca ? arena_.hcas[end.node.index].state.load()
                                              : port_of(end.node.index, end.port).state.load();
    }

    std::string description(const NodeRef& node) const {
        std::string name = view::node_name(arena_, node);
        std::ranges::replace(name, '/', ' ');
        return name;
    }

    /// Returns one end of a cable as OpenSM writes it. Vendor, device and revision are not in the
    /// arena, and readers do not need them: they are zero.
    std::string end_text(const End& end) const {
        constexpr const char* kText =
            "{{ {} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:000000 "
            "DevID:0000 Rev:00000000 {{{}}} LID:{:04X} PN:{:02X} }}";
        const std::uint32_t i = end.node.index;
        if (end.node.kind == NodeRef::kHca) {
            const shm::HcaRecord& hca = arena_.hcas[i];
            return fmt::format(fmt::runtime(kText), "CA", 1, hca.system_image_guid, hca.node_guid,
                               hca.port_guid, description(end.node), hca.lid.load(), end.port);
        }
        const shm::SwitchRecord& sw = arena_.switches[i];
        return fmt::format(fmt::runtime(kText), "SW", sw.port_count - 1, sw.node_guid, sw.node_guid,
                           sw.node_guid, description(end.node), sw.lid.load(), end.port);
    }

    void cable(std::FILE* out, const End& here, const End& there) const {
        const char* const log = log_state(std::min(state(here), state(there)));
        if (log == nullptr) {
            return;
        }
        const std::uint8_t generation = here.node.kind == NodeRef::kHca
                                            ? arena_.hcas[here.node.index].generation
                                            : port_of(here.node.index, here.port).generation;
        const std::uint32_t gbps = topo::link_speed(static_cast<topo::Generation>(generation)).gbps;
        fmt::print(out, "{} {} PHY=4x LOG={} SPD={}\n", end_text(here), end_text(there), log,
                   gbps / kLanesPerLink);
    }

    static const char* log_state(PortState state) {
        switch (state) {
            case PortState::kInit:
                return "INI";
            case PortState::kArmed:
                return "ARM";
            case PortState::kActive:
                return "ACT";
            default:
                return nullptr;  // No cable.
        }
    }

    const shm::Arena& arena_;
    const view::Routes& routes_;
    const routing::Graph& graph_;
};

std::expected<void, std::string> write_file(const std::string& path,
                                            const std::function<void(std::FILE*)>& fill) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(path.c_str(), "we"),
                                                              std::fclose);
    bool good = out != nullptr;
    if (good) {
        try {
            fill(out.get());
        } catch (const std::system_error&) {
            good = false;  // fmt throws if it cannot write.
        }
        good = good && std::fflush(out.get()) == 0;
    }
    if (!good) {
        return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    }
    return {};
}

}  // namespace

std::expected<std::vector<std::string>, std::string> dump_routes(const shm::Arena& arena,
                                                                 const view::Routes& routes,
                                                                 const std::string& directory) {
    if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
        return std::unexpected(fmt::format("cannot make {}: {}", directory, std::strerror(errno)));
    }
    const Dumper dumper(arena, routes);
    using Part = void (Dumper::*)(std::FILE*) const;
    std::vector<std::pair<const char*, Part>> parts{{"opensm-subnet.lst", &Dumper::subnet},
                                                    {"opensm.fdbs", &Dumper::unicast},
                                                    {"opensm.mcfdbs", &Dumper::multicast},
                                                    {"opensm-sl2vl.dump", &Dumper::lanes}};
    if (routes.sls_known) {
        parts.emplace_back(kPathSlName, &Dumper::service_levels);
    } else {
        unlink((directory + "/" + kPathSlName).c_str());  // One of an earlier dump would be wrong.
    }
    std::vector<std::string> names;
    for (const auto& [name, part] : parts) {
        const auto fill = [&dumper, part](std::FILE* out) { (dumper.*part)(out); };
        if (auto written = write_file(directory + "/" + name, fill); !written) {
            return std::unexpected(written.error());
        }
        names.emplace_back(name);
    }
    return names;
}

}  // namespace softib::app
