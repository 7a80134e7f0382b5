// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/topo/render.h"
#include "core/topo/render_common.h"

namespace softib::topo {

namespace {

constexpr std::size_t kPeersShownMax = 6;

struct Glyphs {
    const char* branch;
    const char* last;
    const char* trunk;
    const char* gap;
    const char* times;
    const char* dots;
};

constexpr Glyphs kUnicode{"├─ ", "└─ ", "│  ", "   ", "×", "…"};
constexpr Glyphs kAscii{"|- ", "`- ", "|  ", "   ", "x", "..."};

class TreeWriter {
  public:
    TreeWriter(const Fabric& fabric, const TreeStyle& style)
        : fabric_(fabric), style_(style), glyphs_(style.unicode ? kUnicode : kAscii) {}

    std::string write() {
        add("{}", bold(fabric_.name));
        if (fabric_.shape) {
            add(" ({})", to_string(*fabric_.shape));
        }
        add(": {}\n", summary(fabric_));
        std::uint32_t level_max = 0;
        for (const Node& node : fabric_.nodes) {
            level_max = std::max(level_max, node.level);
        }
        for (std::uint32_t level = level_max + 1; level-- > 0;) {
            write_level(level, level_max > 0);
        }
        return std::move(text_);
    }

  private:
    template <typename... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    }

    std::string paint(const char* code, const std::string& text) const {
        return style_.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
    }
    std::string bold(const std::string& text) const { return paint("1", text); }
    std::string dim(const std::string& text) const { return paint("2", text); }
    std::string cyan(const std::string& text) const { return paint("36", text); }

    void write_level(std::uint32_t level, bool with_title) {
        std::vector<const Node*> switches;
        for (const Node& node : fabric_.nodes) {
            if (node.kind == NodeKind::kSwitch && node.level == level) {
                switches.push_back(&node);
            }
        }
        if (with_title) {
            add("\nlevel {} ({})\n", level, counted(switches.size(), "switch", "switches"));
        } else {
            text_ += '\n';
        }
        const std::size_t shown =
            std::min<std::size_t>(switches.size(), style_.switches_max_per_level);
        for (std::size_t i = 0; i < shown; ++i) {
            write_switch(*switches[i], i + 1 == switches.size());
        }
        if (shown < switches.size()) {
            add("{}{}\n", glyphs_.last, dim(more(switches.size() - shown, "switches")));
        }
    }

    void write_switch(const Node& node, bool last) {
        add("{}{}", last ? glyphs_.last : glyphs_.branch, bold(node.name));
        std::vector<SwitchPeer> up;
        std::vector<SwitchPeer> down;
        std::vector<SwitchPeer> beside;
        for (const SwitchPeer& peer : switch_peers(fabric_, node)) {
            const std::uint32_t level = fabric_.node(peer.peer).level;
            (level > node.level ? up : level < node.level ? down : beside).push_back(peer);
        }
        write_peers("up", up);
        write_peers("down", down);
        write_peers("to", beside);
        text_ += '\n';
        const char* indent = last ? glyphs_.gap : glyphs_.trunk;
        const std::vector<std::uint32_t> ports = hca_ports(fabric_, node);
        const std::size_t shown = std::min<std::size_t>(ports.size(), style_.hosts_max_per_switch);
        const std::size_t digits = shown == 0 ? 0 : std::to_string(ports[shown - 1]).size();
        for (std::size_t i = 0; i < shown; ++i) {
            const PortLink& link = node.ports[ports[i]];
            add("{}{}{} {}  {}\n", indent, i + 1 == ports.size() ? glyphs_.last : glyphs_.branch,
                dim(fmt::format("{:>{}}", ports[i], digits)), cyan(fabric_.node(link.peer).name),
                dim(speed_text(link.generation, link.width)));
        }
        if (shown < ports.size()) {
            add("{}{}{}\n", indent, glyphs_.last, dim(more(ports.size() - shown, "HCAs")));
        }
    }

    void write_peers(const char* direction, const std::vector<SwitchPeer>& peers) {
        if (peers.empty()) {
            return;
        }
        add("  {}", dim(std::string(direction) + ":"));
        const std::size_t shown =
            peers.size() <= kPeersShownMax + 1 ? peers.size() : kPeersShownMax;
        for (std::size_t i = 0; i < shown; ++i) {
            const SwitchPeer& peer = peers[i];
            add("{} {}", i == 0 ? "" : ",", fabric_.node(peer.peer).name);
            if (peer.cables > 1) {
                add(" {}{}", glyphs_.times, peer.cables);
            }
        }
        if (shown < peers.size()) {
            add(", {}", more(peers.size() - shown, nullptr));
        }
        // Mixed speeds are rare and not listed.
        const bool mixed = std::ranges::any_of(peers, [&](const SwitchPeer& peer) {
            return peer.generation != peers.front().generation || peer.width != peers.front().width;
        });
        add("  {}", dim(mixed ? "mixed speeds"
                              : speed_text(peers.front().generation, peers.front().width)));
    }

    std::string more(std::size_t count, const char* what) const {
        return fmt::format("{} and {} more{}{}", glyphs_.dots, count, what != nullptr ? " " : "",
                           what != nullptr ? what : "");
    }

    const Fabric& fabric_;
    const TreeStyle& style_;
    const Glyphs& glyphs_;
    std::string text_;
};

}  // namespace

std::string summary(const Fabric& fabric) {
    std::size_t ends = 0;
    std::vector<std::pair<Generation, Width>> speeds;
    for (const Node& node : fabric.nodes) {
        for (const PortLink& link : node.ports) {
            if (link.peer == kNoNode) {
                continue;
            }
            ++ends;
            const std::pair speed(link.generation, link.width);
            if (std::ranges::find(speeds, speed) == speeds.end()) {
                speeds.push_back(speed);
            }
        }
    }
    std::ranges::sort(speeds, {}, [](const auto& speed) {
        return std::pair(link_speed(speed.first).active_speed, lanes(speed.second));
    });
    std::string text = fmt::format("{}, {}, {}", counted(fabric.hosts.size(), "host", "hosts"),
                                   counted(fabric.count(NodeKind::kHca), "HCA", "HCAs"),
                                   counted(fabric.count(NodeKind::kSwitch), "switch", "switches"));
    if (const std::size_t routers = fabric.count(NodeKind::kRouter); routers > 0) {
        text += ", " + counted(routers, "router", "routers");
    }
    text += ", " + counted(ends / 2, "cable", "cables");
    for (const auto& [generation, width] : speeds) {
        text += ", " + speed_text(generation, width);
    }
    return text;
}

std::string render_tree(const Fabric& fabric, const TreeStyle& style) {
    return TreeWriter(fabric, style).write();
}

}  // namespace softib::topo
