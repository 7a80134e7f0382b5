// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "core/topo/render.h"
#include "core/topo/render_common.h"

namespace softib::topo {

namespace {

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + '"';
}

class DotWriter {
  public:
    explicit DotWriter(const Fabric& fabric) : fabric_(fabric) {}

    std::string write() {
        const bool flat = is_flat(fabric_);
        add("graph {} {{\n", quoted(fabric_.name));
        add("  graph [label={}, labelloc=t, fontname=\"sans-serif\"{}];\n",
            quoted(fabric_.name + ": " + summary(fabric_)),
            flat ? ", layout=neato, overlap=false" : ", rankdir=TB, ranksep=1.2");
        add("  node [fontname=\"sans-serif\", style=filled];\n");
        add("  edge [fontname=\"sans-serif\", fontsize=9];\n");
        write_switches(!flat);
        write_hosts();
        write_edges();
        add("}}\n");
        return std::move(text_);
    }

  private:
    template <typename... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    }

    void write_switches(bool ranked) {
        std::uint32_t level_max = 0;
        for (const Node& node : fabric_.nodes) {
            level_max = std::max(level_max, node.level);
        }
        for (std::uint32_t level = level_max + 1; level-- > 0;) {
            add("  {{\n");
            if (ranked) {
                add("    rank=same;\n");
            }
            add("    node [shape=box, fillcolor=\"#cfe3ff\"];\n");
            for (const Node& node : fabric_.nodes) {
                if (node.kind == NodeKind::kSwitch && node.level == level) {
                    add("    {};\n", quoted(node.name));
                }
            }
            add("  }}\n");
        }
    }

    void write_hosts() {
        add("  node [shape=ellipse, fillcolor=\"#d8f5df\"];\n");
        for (std::size_t h = 0; h < fabric_.hosts.size(); ++h) {
            const Host& host = fabric_.hosts[h];
            if (host.hcas.size() == 1) {
                add("  {};\n", quoted(fabric_.node(host.hcas.front()).name));
                continue;
            }
            add("  subgraph \"cluster_{}\" {{\n    label={};\n", h, quoted(host.name));
            for (const NodeIndex hca : host.hcas) {
                add("    {};\n", quoted(fabric_.node(hca).name));
            }
            add("  }}\n");
        }
    }

    void write_edges() {
        for (std::uint32_t i = 0; i < fabric_.nodes.size(); ++i) {
            const Node& node = fabric_.nodes[i];
            if (node.kind != NodeKind::kSwitch) {
                continue;
            }
            for (const std::uint32_t port : hca_ports(fabric_, node)) {
                const PortLink& link = node.ports[port];
                add("  {} -- {} [label=\"{}G\"];\n", quoted(node.name),
                    quoted(fabric_.node(link.peer).name),
                    link_speed(link.generation, link.width).gbps);
            }
            for (const SwitchPeer& peer : switch_peers(fabric_, node)) {
                if (peer.peer.value < i) {
                    continue;  // This edge is written for the other end.
                }
                const std::uint32_t gbps = link_speed(peer.generation, peer.width).gbps;
                // The later node is the upper one. It comes first, so that dot puts it on top.
                add("  {} -- {} [label=\"{}\", penwidth={}];\n",
                    quoted(fabric_.node(peer.peer).name), quoted(node.name),
                    peer.cables == 1 ? fmt::format("{}G", gbps)
                                     : fmt::format("{}x{}G", peer.cables, gbps),
                    std::min(peer.cables, 8U));
            }
        }
    }

    const Fabric& fabric_;
    std::string text_;
};

}  // namespace

std::string render_dot(const Fabric& fabric) {
    return DotWriter(fabric).write();
}

}  // namespace softib::topo
