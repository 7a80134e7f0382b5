// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/topo/netlist.h"
#include "core/topo/netlist_names.h"
#include "core/topo/netlist_records.h"

namespace softib::topo {

namespace {

using netlist::End;
using netlist::kSpeedUnknown;
using netlist::kWidthUnknown;
using netlist::LeftOut;
using netlist::Record;
using netlist::Records;
using netlist::shown;
using netlist::wrong;

using Result = std::expected<void, Error>;

std::string lines_text(std::size_t lines) {
    return fmt::format("{} {}", lines, lines == 1 ? "line was" : "lines were");
}

std::string first_text(const LeftOut& left_out) {
    return fmt::format("line {} is no line of ibnetdiscover or of an ibsim netlist: '{}'",
                       left_out.first_line, left_out.first_text);
}

std::vector<std::string> warnings_of(const LeftOut& left_out, std::string_view file) {
    std::vector<std::string> warnings;
    if (left_out.lines != 0) {
        warnings.push_back(fmt::format("{}: {} left out; {}{}", file, lines_text(left_out.lines),
                                       left_out.lines == 1 ? "" : "the first, ",
                                       first_text(left_out)));
    }
    if (left_out.joined != 0) {
        warnings.push_back(fmt::format("{}: {} put to the one before, which was wrapped", file,
                                       lines_text(left_out.joined)));
    }
    if (left_out.no_speed != 0) {
        warnings.push_back(fmt::format(
            "{}: {} of cables without a speed: ibsim's default holds, 10 Gb/s (4x SDR); write the "
            "speed behind each, as # 4xNDR, or speed= and extspeed= above them",
            file, left_out.no_speed == 1 ? "1 end" : fmt::format("{} ends", left_out.no_speed)));
    }
    return warnings;
}

std::string named(const std::string& id, unsigned port) {
    return fmt::format("\"{}\"[{}]", shown(id), port);
}

/// Makes nodes from records, and cables from pairs of ends.
class GraphMaker {
  public:
    GraphMaker(const Records& records, std::string_view file) : records_(records), file_(file) {}

    std::expected<Fabric, Error> make() {
        add_nodes();
        if (auto result = check_size(); !result) {
            return std::unexpected(result.error());
        }
        if (auto result = check_guids(); !result) {
            return std::unexpected(result.error());
        }
        for (std::uint32_t r = 0; r < records_.all.size(); ++r) {
            for (const End& end : records_.all[r].ends) {
                if (auto result = add_cable(r, end); !result) {
                    return std::unexpected(result.error());
                }
            }
        }
        set_levels();
        name_nodes(fabric_);
        return std::move(fabric_);
    }

  private:
    // ---- Nodes ----

    void add_nodes() {
        first_node_.resize(records_.all.size());
        for (const NodeKind kind : {NodeKind::kHca, NodeKind::kSwitch, NodeKind::kRouter}) {
            for (std::size_t r = 0; r < records_.all.size(); ++r) {
                const Record& record = records_.all[r];
                if (record.node.kind != kind) {
                    continue;
                }
                first_node_[r] = static_cast<std::uint32_t>(fabric_.nodes.size());
                if (kind == NodeKind::kSwitch) {
                    Node node = record.node;
                    node.ports.resize(record.ports + std::size_t{1});
                    add_node(std::move(node), record.line);
                } else {
                    add_adapter(record);
                }
            }
        }
    }

    /// Adds a node for each port with a cable, or one node for the adapter if no port has a cable.
    void add_adapter(const Record& record) {
        const End bare{.line = record.line, .port = 1};
        bool first = true;
        for (const End& end : record.ends.empty() ? std::span(&bare, 1) : std::span(record.ends)) {
            Node node = record.node;
            node.ports.resize(2);
            node.lid = end.lid;
            node.lmc = end.lmc;
            const Guid port_guid =
                end.guid == Guid{0} ? Guid{node.node_guid.value + end.port} : end.guid;
            if (record.ports > 1) {
                node.adapter = {
                    .guid = node.node_guid, .port = PortNum{end.port}, .ports = record.ports};
            }
            // The first port's node has the adapter's GUID; the others take their port's GUID.
            node.node_guid = first ? node.node_guid : port_guid;
            first = false;
            if (port_guid != node.node_guid) {
                node.port_guid = port_guid;
            }
            add_node(std::move(node), end.line);
        }
    }

    void add_node(Node node, std::size_t line) {
        fabric_.nodes.push_back(std::move(node));
        node_lines_.push_back(line);
    }

    Result check_size() const {
        if (fabric_.nodes.size() > kLidUnicastMax.value) {
            return std::unexpected(
                Error{fmt::format("{}: {} switches and ports of adapters need as many LIDs, a "
                                  "subnet has {}; take a part of the fabric",
                                  file_, fabric_.nodes.size(), kLidUnicastMax.value)});
        }
        return {};
    }

    Result check_guids() const {
        std::vector<std::pair<Guid, std::size_t>> guids;
        for (std::size_t i = 0; i < fabric_.nodes.size(); ++i) {
            const Node& node = fabric_.nodes[i];
            guids.emplace_back(node.node_guid, i);
            if (const Guid port = port_guid(node, PortNum{1}); port != node.node_guid) {
                guids.emplace_back(port, i);
            }
        }
        std::ranges::sort(guids);
        for (std::size_t i = 0; i < guids.size(); ++i) {
            const std::size_t line = node_lines_[guids[i].second];
            if (guids[i].first == Guid{0}) {
                return wrong(file_, line,
                             "its GUID is 0; every node and port needs one of its own");
            }
            if (i > 0 && guids[i].first == guids[i - 1].first) {
                const std::size_t other = node_lines_[guids[i - 1].second];
                return wrong(file_, std::max(line, other),
                             fmt::format("its GUID {} is already that of line {}; every node and "
                                         "port needs one of its own",
                                         to_string(guids[i].first), std::min(line, other)));
            }
        }
        return {};
    }

    // ---- Cables ----

    Result add_cable(std::uint32_t r, const End& end) {
        const Record& record = records_.all[r];
        const auto fail = [&](std::string_view message) { return wrong(file_, end.line, message); };
        const auto found = records_.by_id.find(end.peer);
        if (found == records_.by_id.end()) {
            return fail(
                fmt::format("the cable leads to \"{}\", which is not in the file; add that "
                            "node or remove the line",
                            shown(end.peer)));
        }
        const Record& peer = records_.all[found->second];
        if (end.peer_port > peer.ports) {
            return fail(
                fmt::format("the cable leads to port {} of \"{}\", which has {}; correct "
                            "this line or line {}",
                            end.peer_port, shown(peer.id), peer.ports, peer.line));
        }
        if (&peer == &record && end.peer_port == end.port) {
            return fail("the cable leads from the port to itself; remove the line");
        }
        const End* const back = peer.find(end.peer_port);
        if (back == nullptr) {
            return fail(
                fmt::format("the other end of the cable is missing; add to \"{}\" (line "
                            "{}): [{}] {}",
                            shown(peer.id), peer.line, end.peer_port, named(record.id, end.port)));
        }
        if (back->peer != record.id || back->peer_port != end.port) {
            return fail(fmt::format(
                "the cable leads to {}, but in line {} that leads to {}; let "
                "both lines say the same",
                named(peer.id, end.peer_port), back->line, named(back->peer, back->peer_port)));
        }
        PortLink link{.peer = node_of(found->second, *back), .peer_port = port_of(peer, *back)};
        if (auto result = agree(end, *back, link); !result) {
            return result;
        }
        fabric_.nodes[node_of(r, end).value].ports[port_of(record, end).value] = link;
        return {};
    }

    /// Sets a link to the best speed and width that both ends support.
    Result agree(const End& end, const End& back, PortLink& link) const {
        const unsigned speeds = end.mask.speeds & back.mask.speeds;
        const unsigned widths = end.mask.widths & back.mask.widths;
        if ((speeds & kSpeedUnknown) != 0 || (widths & kWidthUnknown) != 0) {
            return wrong(
                file_, end.line,
                fmt::format("the speed of the link is unknown, here and in line {}; replace "
                            "the question marks, as in 4xHDR",
                            back.line));
        }
        bool speed_found = false;
        for (std::size_t rank = 0; rank < kGenerations.size(); ++rank) {
            if ((speeds >> rank & 1U) != 0) {
                link.generation = kGenerations[rank];
                speed_found = true;
            }
        }
        bool width_found = false;
        for (const Width width : kWidths) {
            if ((widths & static_cast<unsigned>(width)) != 0) {
                link.width = width;
                width_found = true;
            }
        }
        if (!speed_found || !width_found) {
            return wrong(file_, end.line,
                         fmt::format("this end and the one in line {} have no {} in common; let "
                                     "both lines say the same",
                                     back.line, speed_found ? "width" : "speed"));
        }
        return {};
    }

    NodeIndex node_of(std::uint32_t r, const End& end) const {
        const Record& record = records_.all[r];
        const bool is_switch = record.node.kind == NodeKind::kSwitch;
        const auto offset = static_cast<std::uint32_t>(&end - record.ends.data());
        return NodeIndex{first_node_[r] + (is_switch ? 0 : offset)};
    }

    static PortNum port_of(const Record& record, const End& end) {
        return record.node.kind == NodeKind::kSwitch ? PortNum{end.port} : PortNum{1};
    }

    /// Sets the levels of switches, which pictures and reports use. A switch with an HCA is at
    /// level 0; the level of another one is its distance from there.
    void set_levels() {
        std::vector<std::uint32_t> queue;
        std::vector<bool> seen(fabric_.nodes.size());
        for (std::uint32_t i = 0; i < fabric_.nodes.size(); ++i) {
            const Node& node = fabric_.nodes[i];
            if (node.kind != NodeKind::kSwitch) {
                const NodeIndex peer = node.ports[1].peer;
                seen[i] = true;
                if (peer != kNoNode && !seen[peer.value]) {
                    seen[peer.value] = true;
                    queue.push_back(peer.value);
                }
            }
        }
        std::uint32_t top = 0;
        for (std::size_t head = 0; head < queue.size(); ++head) {
            const Node& node = fabric_.nodes[queue[head]];
            top = std::max(top, node.level);
            for (const PortLink& link : node.ports) {
                if (link.peer != kNoNode && !seen[link.peer.value]) {
                    seen[link.peer.value] = true;
                    fabric_.nodes[link.peer.value].level = node.level + 1;
                    queue.push_back(link.peer.value);
                }
            }
        }
        lower_bare_leaves(top);
    }

    /// Moves leaves without hosts two levels down. Such a leaf is a switch at the top level whose
    /// neighbours are joined below it already. If all switches of the top level are like that, they
    /// are the top of a tree with one pod, and stay.
    void lower_bare_leaves(std::uint32_t top) {
        const std::vector<std::uint32_t> part = parts_below(top);
        std::vector<Node*> bare;
        std::size_t tops = 0;
        for (Node& node : fabric_.nodes) {
            if (top < 2 || node.kind != NodeKind::kSwitch || node.level != top) {
                continue;
            }
            ++tops;
            const auto joins_others = [&](const PortLink& link) {
                return link.peer != kNoNode && (part[link.peer.value] == UINT32_MAX ||
                                                part[link.peer.value] != part_of(node, part));
            };
            if (std::ranges::none_of(node.ports, joins_others)) {
                bare.push_back(&node);
            }
        }
        for (Node* const node : bare.size() < tops ? std::span(bare) : std::span<Node*>()) {
            node->level = top - 2;
        }
    }

    static std::uint32_t part_of(const Node& node, const std::vector<std::uint32_t>& part) {
        const auto cabled = std::ranges::find_if(
            node.ports, [](const PortLink& link) { return link.peer != kNoNode; });
        return part[cabled->peer.value];
    }

    /// Returns, for each node, the number of its connected part in the graph of the switches below
    /// a level.
    std::vector<std::uint32_t> parts_below(std::uint32_t top) const {
        std::vector<std::uint32_t> part(fabric_.nodes.size(), UINT32_MAX);
        const auto belongs = [&](std::uint32_t i) {
            return fabric_.nodes[i].kind == NodeKind::kSwitch && fabric_.nodes[i].level < top;
        };
        for (std::uint32_t start = 0; start < fabric_.nodes.size(); ++start) {
            if (!belongs(start) || part[start] != UINT32_MAX) {
                continue;
            }
            std::vector<std::uint32_t> queue{start};
            part[start] = start;
            for (std::size_t head = 0; head < queue.size(); ++head) {
                for (const PortLink& link : fabric_.nodes[queue[head]].ports) {
                    if (link.peer != kNoNode && belongs(link.peer.value) &&
                        part[link.peer.value] == UINT32_MAX) {
                        part[link.peer.value] = start;
                        queue.push_back(link.peer.value);
                    }
                }
            }
        }
        return part;
    }

    const Records& records_;
    std::string_view file_;
    Fabric fabric_;
    std::vector<std::uint32_t> first_node_;  ///< By record.
    std::vector<std::size_t> node_lines_;    ///< By node.
};

}  // namespace

std::expected<Fabric, Error> read_netlist(std::string_view text, std::string_view file) {
    LeftOut left_out;
    const auto records = netlist::read_records(text, file, left_out);
    auto fabric = records ? GraphMaker(*records, file).make() : std::unexpected(records.error());
    if (fabric) {
        fabric->warnings = warnings_of(left_out, file);
    } else if (left_out.lines != 0) {
        fabric.error().message += fmt::format("; {} left out before: {}",
                                              lines_text(left_out.lines), first_text(left_out));
    }
    return fabric;
}

}  // namespace softib::topo
