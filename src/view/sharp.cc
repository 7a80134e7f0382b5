// SPDX-License-Identifier: BSD-2-Clause
#include "view/sharp.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "runtime/shm/rpc.h"

namespace softib::view {

namespace {

/// The fields of a line, separated by tabs. A field beyond the last is empty.
class TabFields {
  public:
    explicit TabFields(std::string_view line) {
        while (true) {
            const std::size_t end = line.find('\t');
            fields_.push_back(line.substr(0, end));
            if (end == std::string_view::npos) {
                return;
            }
            line.remove_prefix(end + 1);
        }
    }
    std::string_view at(std::size_t i) const { return i < fields_.size() ? fields_[i] : ""; }
    std::string text(std::size_t i) const { return std::string(at(i)); }
    std::uint64_t number(std::size_t i) const {
        std::uint64_t value = 0;
        std::from_chars(at(i).data(), at(i).data() + at(i).size(), value);
        return value;
    }

  private:
    std::vector<std::string_view> fields_;
};

void take_line(const TabFields& line, Sharp& sharp) {
    const std::string_view kind = line.at(0);
    if (kind == "node") {
        sharp.nodes.push_back({line.text(1), line.number(2), line.number(3), line.number(4),
                               line.number(5), line.number(6), line.number(7), line.number(8),
                               line.number(9), line.number(10), line.number(11)});
    } else if (kind == "job") {
        sharp.jobs.push_back({line.number(1),
                              line.text(2),
                              line.text(3),
                              line.number(4),
                              line.number(5),
                              line.number(6),
                              line.number(7),
                              line.number(8),
                              line.number(9),
                              line.text(11),
                              line.text(12),
                              {},
                              {}});
    } else if (sharp.jobs.empty()) {
        return;
    } else if (kind == "switch") {
        sharp.jobs.back().switches.push_back(
            {line.text(2), line.at(3) == "-" ? "" : line.text(3), line.number(4), {}});
    } else if (kind == "member" && !sharp.jobs.back().switches.empty()) {
        sharp.jobs.back().switches.back().members.push_back(
            {line.number(2), line.text(3), line.number(5)});
    } else if (kind == "group") {
        sharp.jobs.back().groups.push_back({line.number(2), line.number(3), line.text(4)});
    }
}

}  // namespace

Sharp parse_sharp(std::string_view text) {
    Sharp sharp;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        take_line(TabFields(line), sharp);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return sharp;
}

namespace {

/// Adds the tree of one job to a fabric. A switch that is in several trees is drawn once in each.
class TreeDrawing {
  public:
    TreeDrawing(topo::Fabric& fabric, const SharpJob& job) : fabric_(fabric), job_(job) {}

    void draw() {
        std::vector<topo::NodeIndex> switches;
        for (const SharpSwitch& each : job_.switches) {
            switches.push_back(add(topo::NodeKind::kSwitch, each.name));
            fabric_.nodes.back().level = level_of(each);
        }
        for (std::size_t i = 0; i < switches.size(); ++i) {
            for (std::size_t parent = 0; parent < switches.size(); ++parent) {
                if (job_.switches[parent].name == job_.switches[i].parent) {
                    join(switches[i], switches[parent]);
                }
            }
            for (const SharpMember& member : job_.switches[i].members) {
                add_member(member, switches[i]);
            }
        }
    }

  private:
    topo::NodeIndex add(topo::NodeKind kind, const std::string& name) {
        topo::Node node;
        node.kind = kind;
        node.name = job_.id == 0 ? name : name + " (job " + std::to_string(job_.id) + ")";
        node.ports.resize(1);
        fabric_.nodes.push_back(std::move(node));
        return topo::NodeIndex{static_cast<std::uint32_t>(fabric_.nodes.size() - 1)};
    }
    void join(topo::NodeIndex below, topo::NodeIndex above) {
        auto& from = fabric_.nodes[below.value].ports;
        auto& to = fabric_.nodes[above.value].ports;
        from.push_back({.peer = above, .peer_port = PortNum{static_cast<std::uint8_t>(to.size())}});
        to.push_back(
            {.peer = below, .peer_port = PortNum{static_cast<std::uint8_t>(from.size() - 1)}});
    }
    void add_member(const SharpMember& member, topo::NodeIndex at) {
        topo::Host host;
        host.name = "rank " + std::to_string(member.rank);
        host.device_names = {member.hca};
        host.hcas = {add(topo::NodeKind::kHca, member.hca)};
        fabric_.nodes.back().host = static_cast<std::uint32_t>(fabric_.hosts.size());
        join(host.hcas[0], at);
        fabric_.hosts.push_back(std::move(host));
    }
    /// Returns the level of a switch: the lowest is next to the members, the root is the highest.
    std::uint32_t level_of(const SharpSwitch& each) const {
        auto level = static_cast<std::uint32_t>(job_.depth > 0 ? job_.depth - 1 : 0);
        const SharpSwitch* at = &each;
        while (!at->parent.empty() && level > 0) {
            --level;
            const auto found = std::ranges::find(job_.switches, at->parent, &SharpSwitch::name);
            if (found == job_.switches.end()) {
                break;
            }
            at = &*found;
        }
        return level;
    }

    topo::Fabric& fabric_;
    const SharpJob& job_;
};

}  // namespace

topo::Fabric draw_trees(const Sharp& sharp) {
    topo::Fabric fabric;
    fabric.name = "SHARP trees";
    fabric.shape = topo::Shape::kFatTree;
    for (const SharpJob& job : sharp.jobs) {
        TreeDrawing(fabric, job).draw();
    }
    return fabric;
}

std::expected<Sharp, int> ask_sharp(int daemon) {
    shm::Message message;
    shm::request::OneFile told;
    if (const int error = shm::rpc_ask(daemon, shm::request::SharpDescribe{}, message, told);
        error != 0) {
        return std::unexpected(error);
    }
    struct stat st{};
    std::string text;
    if (fstat(told.file, &st) == 0) {
        text.resize(static_cast<std::size_t>(st.st_size));
    }
    const bool read =
        pread(told.file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    close(told.file);
    return read ? std::expected<Sharp, int>(parse_sharp(text)) : std::unexpected(EIO);
}

}  // namespace softib::view
