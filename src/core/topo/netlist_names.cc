// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/netlist_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/topo/netlist_lines.h"

namespace softib::topo {

namespace {

// The lengths of names that fit into the arena of a live fabric, with room for a suffix that makes
// them unique.
constexpr std::size_t kHostBytesMax = 48;
constexpr std::size_t kDeviceBytesMax = 48;
constexpr std::size_t kSwitchBytesMax = 47;
constexpr std::size_t kGuidDigits = 16;

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/// Returns a text as a name, which can be a file name and an argument of commands: other characters
/// become '_'.
std::string plain(std::string_view text, std::size_t bytes_max) {
    std::string result(text.substr(0, bytes_max));
    std::ranges::replace_if(result, [](char c) { return !is_plain(c); }, '_');
    if (result.starts_with('.') || result.starts_with('-')) {
        result.front() = '_';
    }
    return result;
}

std::string with_guid(std::string_view name, Guid guid) {
    return fmt::format("{}-{:0{}x}", name, guid.value, kGuidDigits);
}

bool ends_like_a_guid(std::string_view name) {
    return name.size() > kGuidDigits && name[name.size() - kGuidDigits - 1] == '-' &&
           name.find_first_not_of("0123456789abcdef", name.size() - kGuidDigits) == name.npos;
}

std::pair<std::string_view, std::string_view> first_two_words(std::string_view text) {
    const auto take = [&text] {
        text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
        const std::string_view word = text.substr(0, text.find_first_of(" \t"));
        text.remove_prefix(word.size());
        return word;
    };
    const std::string_view first = take();
    return {first, take()};
}

/// Returns whether a description is no host's own: the default of an adapter that no driver has
/// changed, the aggregation node of a switch, or the id of a node without a description.
bool is_vendors(std::string_view description) {
    return description.find("Mellanox Technologies") != description.npos ||
           description.find("Aggregation Node") != description.npos ||
           netlist::guid_in_id(description);
}

/// Returns whether a word looks like a device: "mlx5_0", "mthca0", "hfi1_0", "ibp65s0", but not
/// "HCA-1", which is the number of an adapter.
bool is_device(std::string_view word) {
    return !word.empty() && word.front() >= 'a' && word.front() <= 'z' && word.back() >= '0' &&
           word.back() <= '9' && std::ranges::all_of(word, is_plain);
}

/// The host that an HCA belongs to: a name and a number among the hosts of that name, or a system
/// image GUID.
struct HostKey {
    std::string_view word;
    std::uint32_t occurrence = 0;
    Guid system_image;
    friend auto operator<=>(const HostKey&, const HostKey&) = default;
};

class HostNamer {
  public:
    explicit HostNamer(Fabric& fabric) : fabric_(fabric) {}

    void run() {
        const std::vector<HostKey> keys = make_keys();
        for (std::uint32_t i = 0; i < fabric_.nodes.size(); ++i) {
            Node& node = fabric_.nodes[i];
            if (node.kind == NodeKind::kHca) {
                node.host = host_of(keys[i], node);
                fabric_.hosts[node.host].hcas.push_back(NodeIndex{i});
            }
        }
        for (Host& host : fabric_.hosts) {
            name_devices(host);
        }
    }

  private:
    /// Returns the host of each HCA: first those whose description names a host, then those whose
    /// host follows from the system image GUID.
    std::vector<HostKey> make_keys() {
        std::vector<HostKey> keys(fabric_.nodes.size());
        std::map<Guid, HostKey> named_by_image;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const Node& node = fabric_.nodes[i];
            if (node.kind == NodeKind::kHca && names_host(node)) {
                const std::string_view word = first_two_words(node.description).first;
                keys[i] = {.word = word, .occurrence = occurrence(node), .system_image = Guid{0}};
                named_by_image.try_emplace(node.system_image_guid, keys[i]);
            }
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const Node& node = fabric_.nodes[i];
            if (node.kind == NodeKind::kHca && !names_host(node)) {
                const auto named = named_by_image.find(node.system_image_guid);
                keys[i] = named != named_by_image.end()
                              ? named->second
                              : HostKey{.word = {}, .system_image = node.system_image_guid};
            }
        }
        return keys;
    }

    static bool names_host(const Node& node) {
        return !first_two_words(node.description).first.empty() && !is_vendors(node.description);
    }

    /// Returns how many other systems before this one have exactly the same description. Returns 0
    /// for a description of one word, which all adapters of a host may have.
    std::uint32_t occurrence(const Node& node) {
        if (first_two_words(node.description).second.empty()) {
            return 0;
        }
        std::map<Guid, std::uint32_t>& systems = by_description_[node.description];
        const auto next = static_cast<std::uint32_t>(systems.size());
        return systems.try_emplace(node.system_image_guid, next).first->second;
    }

    std::uint32_t host_of(const HostKey& key, const Node& node) {
        const auto next = static_cast<std::uint32_t>(fabric_.hosts.size());
        const auto [entry, is_new] = hosts_.try_emplace(key, next);
        if (is_new) {
            Host host;
            host.name = key.word.empty() ? with_guid(vendors_name(node), key.system_image)
                                         : plain(key.word, kHostBytesMax);
            host.name = unique(host.name);
            fabric_.hosts.push_back(std::move(host));
        }
        return entry->second;
    }

    static std::string vendors_name(const Node& node) {
        const std::string_view word = first_two_words(node.description).first;
        return word.empty() || netlist::guid_in_id(word)
                   ? "host"
                   : plain(word, kHostBytesMax - kGuidDigits - 1);
    }

    std::string unique(const std::string& name) {
        if (names_.insert(name).second) {
            return name;
        }
        std::uint32_t& next = next_number_.try_emplace(name, 2).first->second;
        while (true) {
            std::string numbered = fmt::format("{}-{}", name, next++);
            if (names_.insert(numbered).second) {
                return numbered;
            }
        }
    }

    void name_devices(Host& host) {
        std::set<std::string> taken;
        host.device_names.resize(host.hcas.size());
        for (std::size_t i = 0; i < host.hcas.size(); ++i) {
            const Node& node = fabric_.node(host.hcas[i]);
            const std::string_view word = first_two_words(node.description).second;
            if (names_host(node) && is_device(word)) {
                std::string name = plain(word, kDeviceBytesMax);
                if (taken.insert(name).second) {
                    host.device_names[i] = std::move(name);
                }
            }
        }
        std::uint32_t next = 0;
        for (std::size_t i = 0; i < host.hcas.size(); ++i) {
            while (host.device_names[i].empty()) {
                std::string name = fmt::format("mlx5_{}", next++);
                if (taken.insert(name).second) {
                    host.device_names[i] = std::move(name);
                }
            }
            fabric_.nodes[host.hcas[i].value].name = host.name + "/" + host.device_names[i];
        }
    }

    Fabric& fabric_;
    std::map<std::string_view, std::map<Guid, std::uint32_t>> by_description_;
    std::map<HostKey, std::uint32_t> hosts_;
    std::set<std::string> names_;
    std::map<std::string, std::uint32_t> next_number_;
};

/// Returns the name in the description of a managed switch: "leaf1" for "MF0;leaf1:MQM8700/U1",
/// "core-L07-U1" for "MF0;core:CS7520/L07/U1".
std::string managed_switch_name(std::string_view description) {
    const std::size_t start = description.find(';');
    const std::size_t colon = description.find(':', std::min(start, description.size()));
    const std::size_t slash = description.find('/', std::min(colon, description.size()));
    if (!description.starts_with("MF") || slash == description.npos || colon == start + 1) {
        return std::string(description);
    }
    std::string name(description.substr(start + 1, colon - start - 1));
    std::string part(description.substr(slash + 1));
    std::ranges::replace(part, '/', '-');
    return part == "U1" ? name : fmt::format("{}-{}", name, part);
}

/// Names switches and routers. A name either ends in the node's GUID or does not end like a GUID,
/// so that no two names are equal.
void name_others(Fabric& fabric) {
    std::vector<std::string> bases(fabric.nodes.size());
    std::map<std::string_view, std::uint32_t> uses;
    for (std::size_t i = 0; i < bases.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (node.kind != NodeKind::kHca) {
            bases[i] = plain(managed_switch_name(node.description), kSwitchBytesMax);
            if (bases[i].empty() || netlist::guid_in_id(node.description)) {
                bases[i] = node.kind == NodeKind::kSwitch ? "switch" : "router";
            }
            ++uses[bases[i]];
        }
    }
    for (std::size_t i = 0; i < bases.size(); ++i) {
        Node& node = fabric.nodes[i];
        if (node.kind != NodeKind::kHca) {
            const bool alone = uses[bases[i]] == 1 && !ends_like_a_guid(bases[i]);
            const std::string_view shortened =
                std::string_view(bases[i]).substr(0, kSwitchBytesMax - kGuidDigits - 1);
            node.name = alone ? bases[i] : with_guid(shortened, node.node_guid);
        }
    }
}

}  // namespace

void name_nodes(Fabric& fabric) {
    HostNamer(fabric).run();
    name_others(fabric);
}

}  // namespace softib::topo
