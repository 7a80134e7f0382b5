// SPDX-License-Identifier: BSD-2-Clause
#include "spec/description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <variant>

#include "core/routing/engine.h"
#include "core/topo/netlist.h"
#include "core/topo/trunk.h"
#include "spec/fabric_name.h"
#include "spec/trunks.h"

namespace softib::spec {

namespace {

using Numbers = std::vector<std::int64_t>;
using Value = std::variant<std::int64_t, std::string, Numbers, bool>;
using Setter = std::expected<void, std::string> (*)(Description&, const Value&);

constexpr std::int64_t kHostsMax = kLidUnicastMax.value;
constexpr std::int64_t kSwitchPortsMax = 254;
constexpr std::uint64_t kArenaBytesMin = std::uint64_t{2} << 30;
constexpr std::uint64_t kArenaBytesMax = std::uint64_t{16} << 40;
constexpr std::size_t kSuggestionDistanceMax = 3;

std::string shown(const Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return std::to_string(*number);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
        return fmt::format("\"{}\"", *text);
    }
    if (std::holds_alternative<bool>(value)) {
        return "true or false";
    }
    return fmt::format("[{}]", fmt::join(std::get<Numbers>(value), ", "));
}

std::expected<void, std::string> refuse(const std::string& wanted, const Value& value) {
    return std::unexpected(fmt::format("must be {}, not {}", wanted, shown(value)));
}

template <std::uint32_t topo::Spec::* kField, std::int64_t kMin, std::int64_t kMax>
std::expected<void, std::string> set_number(Description& description, const Value& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < kMin || *number > kMax) {
        return refuse(fmt::format("a whole number from {} to {}", kMin, kMax), value);
    }
    description.spec.*kField = static_cast<std::uint32_t>(*number);
    return {};
}

template <std::string topo::Spec::* kField>
std::expected<void, std::string> set_text(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || text->empty()) {
        return refuse("a text", value);
    }
    description.spec.*kField = *text;
    return {};
}

template <std::string Description::* kField>
std::expected<void, std::string> set_file(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || text->empty()) {
        return refuse("the name of a file", value);
    }
    description.*kField = *text;
    return {};
}

std::expected<void, std::string> set_name(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        return refuse("a text", value);
    }
    description.spec.name = *text;
    return check_fabric_name(*text);
}

std::expected<void, std::string> set_topology(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto shape = text == nullptr ? std::nullopt : topo::parse_shape(*text);
    if (!shape) {
        std::vector<std::string_view> names;
        std::ranges::transform(topo::kShapes, std::back_inserter(names),
                               [](topo::Shape known) { return topo::to_string(known); });
        return refuse(fmt::format("one of {}", fmt::join(names, ", ")), value);
    }
    description.spec.shape = *shape;
    return {};
}

template <topo::Taper topo::Spec::* kField>
std::expected<void, std::string> set_taper(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto* number = std::get_if<std::int64_t>(&value);
    const auto taper = text != nullptr     ? topo::parse_taper(*text)
                       : number != nullptr ? topo::parse_taper(std::to_string(*number))
                                           : std::nullopt;
    if (!taper) {
        return refuse("cables down for cables up, as \"2:1\" or \"3:2\"", value);
    }
    description.spec.*kField = *taper;
    return {};
}

std::expected<void, std::string> set_generation(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto generation = text == nullptr ? std::nullopt : topo::parse_generation(*text);
    // Older links exist in dumped fabrics; nobody builds new ones.
    constexpr std::uint32_t kEdrGbps = 100;
    if (!generation || topo::link_speed(*generation).gbps < kEdrGbps) {
        return refuse("EDR, HDR, NDR or XDR", value);
    }
    description.spec.generation = *generation;
    return {};
}

std::optional<std::int64_t> parse_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

/// "4x4x2"
std::optional<Numbers> parse_numbers(std::string_view text) {
    Numbers numbers;
    while (true) {
        const std::size_t cut = text.find('x');
        const auto number = parse_number(text.substr(0, cut));
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
        if (cut == std::string_view::npos) {
            return numbers;
        }
        text.remove_prefix(cut + 1);
    }
}

std::expected<void, std::string> set_dimensions(Description& description, const Value& value) {
    std::optional<Numbers> numbers;
    if (const auto* list = std::get_if<Numbers>(&value)) {
        numbers = *list;
    } else if (const auto* text = std::get_if<std::string>(&value)) {
        numbers = parse_numbers(*text);
    }
    const auto fits = [](std::int64_t n) { return n >= 1 && n <= kHostsMax; };
    if (!numbers || numbers->empty() || !std::ranges::all_of(*numbers, fits)) {
        return refuse("switches per dimension, as [4, 4] or \"4x4\"", value);
    }
    description.spec.dimensions.clear();
    for (const std::int64_t n : *numbers) {
        description.spec.dimensions.push_back(static_cast<std::uint32_t>(n));
    }
    return {};
}

std::expected<void, std::string> set_arena(Description& description, const Value& value) {
    std::expected<std::uint64_t, std::string> bytes = std::unexpected(std::string());
    if (const auto* text = std::get_if<std::string>(&value)) {
        bytes = parse_bytes(*text);
    } else if (const auto* number = std::get_if<std::int64_t>(&value); number && *number >= 0) {
        bytes = static_cast<std::uint64_t>(*number);
    }
    if (!bytes || *bytes < kArenaBytesMin || *bytes > kArenaBytesMax) {
        return refuse("a size from 2GiB to 16TiB", value);
    }
    description.arena_bytes = *bytes;
    return {};
}

std::expected<void, std::string> set_manager(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (*text != "softib" && *text != "opensm" && *text != "none")) {
        return refuse("softib, opensm or none (then run one: softib exec HOST -- opensm)", value);
    }
    description.manager = *text;
    return {};
}

std::expected<void, std::string> set_manager_args(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        return refuse("a text", value);
    }
    description.manager_args = *text;
    return {};
}

std::expected<void, std::string> set_data_path(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (*text != "direct" && *text != "packet")) {
        return refuse("direct or packet", value);
    }
    description.data_path = *text == "packet" ? DataPath::kPacket : DataPath::kDirect;
    return {};
}

std::expected<void, std::string> set_link_layer(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (*text != "infiniband" && *text != "ethernet")) {
        return refuse("infiniband or ethernet", value);
    }
    description.link_layer =
        *text == "ethernet" ? hca::LinkLayer::kEthernet : hca::LinkLayer::kInfiniBand;
    return {};
}

template <std::string EthernetPlan::* kField>
std::expected<void, std::string> set_ethernet(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        return refuse("a text", value);
    }
    description.ethernet.*kField = *text;
    return {};
}

std::expected<void, std::string> set_trunk(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || text->empty()) {
        return refuse("a text", value);
    }
    if (const auto plans = parse_trunks(*text); !plans) {
        return std::unexpected(fmt::format("is wrong: {}", plans.error()));
    }
    description.trunk = *text;
    return {};
}

std::expected<void, std::string> set_site(Description& description, const Value& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < 0 || *number >= topo::kSitesMax) {
        return refuse(fmt::format("a whole number from 0 to {}", topo::kSitesMax - 1), value);
    }
    description.site = static_cast<std::uint32_t>(*number);
    return {};
}

std::expected<void, std::string> set_link_scale(Description& description, const Value& value) {
    constexpr double kLeast = 1e-6;
    const auto* text = std::get_if<std::string>(&value);
    double scale = 0;
    const char* const end = text != nullptr ? text->data() + text->size() : nullptr;
    if (text == nullptr ||
        std::from_chars(text->data(), end, scale) != std::from_chars_result{end, std::errc{}} ||
        !(scale >= kLeast && scale <= 1.0)) {
        return refuse("a part of 1, as \"0.01\"", value);
    }
    description.link_scale = scale;
    return {};
}

/// Hosts are known only when the fabric is made: the daemon looks at them.
std::expected<void, std::string> set_addresses(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        return refuse("a list like \"10.0.0.1=h0, 10.0.0.2=h1\"", value);
    }
    description.addresses = *text;
    return {};
}

std::expected<void, std::string> set_engine(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || routing::find_engine(*text) == nullptr) {
        std::vector<std::string_view> names;
        for (const routing::Engine& engine : routing::engines()) {
            names.push_back(engine.name);
        }
        return refuse(fmt::format("one of {}", fmt::join(names, ", ")), value);
    }
    description.engine = *text;
    return {};
}

std::expected<void, std::string> set_lmc(Description& description, const Value& value) {
    constexpr std::int64_t kLmcMax = 7;
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < 0 || *number > kLmcMax) {
        return refuse("a number from 0 to 7", value);
    }
    description.lmc = static_cast<std::uint8_t>(*number);
    return {};
}

std::expected<void, std::string> set_adaptive_routing(Description& description,
                                                      const Value& value) {
    const auto* on = std::get_if<bool>(&value);
    if (on == nullptr) {
        return refuse("true or false", value);
    }
    description.adaptive_routing = *on;
    return {};
}

std::expected<void, std::string> set_qos(Description& description, const Value& value) {
    const auto* on = std::get_if<bool>(&value);
    if (on == nullptr) {
        return refuse("true or false", value);
    }
    description.qos.on = *on;
    return {};
}

template <std::uint8_t sm::QosConfig::* kField, std::int64_t kMin, std::int64_t kMax>
std::expected<void, std::string> set_qos_number(Description& description, const Value& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < kMin || *number > kMax) {
        return refuse(fmt::format("a whole number from {} to {}", kMin, kMax), value);
    }
    description.qos.*kField = static_cast<std::uint8_t>(*number);
    return {};
}

/// A field of QosConfig and the function that reads its text.
template <auto kField, auto kParse>
std::expected<void, std::string> set_qos_text(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    auto parsed = kParse(text == nullptr ? std::string_view() : std::string_view(*text));
    if (!parsed) {
        return std::unexpected(fmt::format("{}, not {}", parsed.error(), shown(value)));
    }
    description.qos.*kField = std::move(*parsed);
    return {};
}

enum class Form { kText, kNumber, kSwitch };

/// What a key is about: the fabric that is generated, our subnet manager, or neither.
enum class About { kShape, kManager, kOther };

struct KeyRule {
    ConfigKey key;
    Form form;  ///< How a flag's text is read.
    Setter set;
    About about = About::kShape;
};

using sm::QosConfig;
using topo::Spec;
const std::vector<KeyRule>& rules() {
    static const std::vector<KeyRule> table{
        {{"name", "NAME", "name of the fabric"}, Form::kText, set_name, About::kOther},
        {{"from", "FILE", "take the fabric from a file of ibnetdiscover or ibsim"},
         Form::kText,
         set_file<&Description::from>,
         About::kOther},
        {{"topology", "SHAPE",
          "single-switch, fat-tree, rail-optimized, rail-only, superpod, torus, hyperx, dragonfly "
          "or "
          "dragonfly-plus",
          "single-switch"},
         Form::kText,
         set_topology},
        {{"hosts", "N", "virtual hosts", "2"},
         Form::kNumber,
         set_number<&Spec::hosts, 1, kHostsMax>},
        {{"hcas", "N", "HCAs per host", "1"},
         Form::kNumber,
         set_number<&Spec::hcas_per_host, 1, 64>},
        {{"radix", "N", "ports per switch (default: as needed)"},
         Form::kNumber,
         set_number<&Spec::radix, 0, kSwitchPortsMax>},
        {{"levels", "N", "trees: levels of switches, 2 or 3 (default: as needed)"},
         Form::kNumber,
         set_number<&Spec::levels, 0, 3>},
        {{"oversubscription", "D:U", "trees: HCAs of a leaf for its cables up", "1:1"},
         Form::kText,
         set_taper<&Spec::oversubscription>},
        {{"spine_oversubscription", "D:U", "trees of 3 levels: the same of a spine", "1:1"},
         Form::kText,
         set_taper<&Spec::spine_oversubscription>},
        {{"dimensions", "AxB", "torus, hyperx: switches per dimension"},
         Form::kText,
         set_dimensions},
        {{"hosts_per_switch", "N",
          "torus, hyperx, dragonflies: HCAs per switch (default: as needed)"},
         Form::kNumber,
         set_number<&Spec::hosts_per_switch, 0, kSwitchPortsMax>},
        {{"groups", "N", "dragonflies: groups"},
         Form::kNumber,
         set_number<&Spec::groups, 0, kHostsMax>},
        {{"switches_per_group", "N", "dragonflies: switches per group (dragonfly-plus: leaves)"},
         Form::kNumber,
         set_number<&Spec::switches_per_group, 0, kSwitchPortsMax>},
        {{"generation", "GEN", "link speed: EDR, HDR, NDR or XDR", "NDR"},
         Form::kText,
         set_generation},
        {{"device_pattern", "TEXT", "device names, {} is the number", "mlx5_{}"},
         Form::kText,
         set_text<&Spec::device_pattern>},
        {{"host_pattern", "TEXT", "host names, {} is the number", "h{}"},
         Form::kText,
         set_text<&Spec::host_pattern>},
        {{"arena", "SIZE",
          "address space for programs' memory, used only where touched (default: as much as the "
          "machine has, at least 32GiB)"},
         Form::kText,
         set_arena,
         About::kOther},
        {{"data_path", "WAY", "direct: programs copy; packet: every byte travels in packets",
          "direct"},
         Form::kText,
         set_data_path,
         About::kOther},
        {{"link_layer", "WHAT", "infiniband, or ethernet: RoCEv2 over UDP, in packets",
          "infiniband"},
         Form::kText,
         set_link_layer,
         About::kOther},
        {{"roce_address_base", "IP", "ethernet: where the hosts' addresses begin", "127.55.0.0"},
         Form::kText,
         set_ethernet<&EthernetPlan::base>,
         About::kOther},
        {{"roce_addresses", "LIST", "ethernet: addresses of network interfaces, as 10.0.0.1=h0"},
         Form::kText,
         set_ethernet<&EthernetPlan::addresses>,
         About::kOther},
        {{"trunk", "WHERE", "link to another fabric, over UDP: SWITCH=IP:PORT,PEER-IP:PORT"},
         Form::kText,
         set_trunk,
         About::kOther},
        {{"trunk_key", "FILE", "the key that both ends of a trunk have: 32 hexadecimal digits"},
         Form::kText,
         set_file<&Description::trunk_key>,
         About::kOther},
        {{"site", "N", "with trunks: another number for each fabric, so that GUIDs differ", "0"},
         Form::kNumber,
         set_site,
         About::kOther},
        {{"link_scale", "PART", "with packets: speed of all links, as a part of their own", "1"},
         Form::kText,
         set_link_scale,
         About::kOther},
        {{"addresses", "LIST", "more addresses for rdma_cm: IP=HOST or IP=HOST/DEVICE, by commas"},
         Form::kText,
         set_addresses,
         About::kOther},
        {{"sm", "WHO", "subnet manager: softib (ours), opensm or none", "softib"},
         Form::kText,
         set_manager,
         About::kOther},
        {{"sm_args", "WORDS", "arguments of OpenSM, with --sm opensm"},
         Form::kText,
         set_manager_args,
         About::kOther},
        {{"engine", "ENGINE", "routing engine of our subnet manager", "auto"},
         Form::kText,
         set_engine,
         About::kManager},
        {{"partitions", "FILE", "who may talk to whom, as in OpenSM's partitions.conf"},
         Form::kText,
         set_file<&Description::partitions>,
         About::kManager},
        {{"lid_file", "FILE", "keeps LIDs from one run to the next"},
         Form::kText,
         set_file<&Description::lid_file>,
         About::kManager},
        {{"lmc", "N", "2^N LIDs for each port of an adapter, 0 to 7", "0"},
         Form::kNumber,
         set_lmc,
         About::kManager},
        {{"adaptive_routing", "", "switches choose among ports that are equally good"},
         Form::kSwitch,
         set_adaptive_routing,
         About::kManager},
        {{"qos", "", "map service levels to lanes and arbitrate between them"},
         Form::kSwitch,
         set_qos,
         About::kManager},
        {{"max_op_vls", "N", "lanes: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14", "5"},
         Form::kNumber,
         set_qos_number<&QosConfig::max_op_vls, 1, sm::kMaxOpVlsAll>,
         About::kManager},
        {{"high_limit", "N", "with --qos: what high priority may send at a time", "0"},
         Form::kNumber,
         set_qos_number<&QosConfig::high_limit, 0, 255>,
         About::kManager},
        {{"vlarb_high", "LIST",
          "with --qos: lanes and weights of high priority, as 0:4,1:0 (default: VL0 4)"},
         Form::kText,
         set_qos_text<&QosConfig::vlarb_high, sm::parse_vlarb>,
         About::kManager},
        {{"vlarb_low", "LIST",
          "with --qos: the same of low priority (default: 4 each, but for VL0)"},
         Form::kText,
         set_qos_text<&QosConfig::vlarb_low, sm::parse_vlarb>,
         About::kManager},
        {{"sl2vl", "LIST",
          "with --qos: lane of each service level, as 0,1,2,3 (default: modulo lanes)"},
         Form::kText,
         set_qos_text<&QosConfig::sl2vl, sm::parse_sl2vl>,
         About::kManager},
    };
    return table;
}

const KeyRule* find_rule(std::string_view name) {
    std::string wanted(name);
    std::ranges::replace(wanted, '-', '_');
    const auto found =
        std::ranges::find_if(rules(), [&](const KeyRule& rule) { return rule.key.name == wanted; });
    return found == rules().end() ? nullptr : &*found;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

std::string unknown_key(std::string_view name) {
    const auto distance = [&](const KeyRule& rule) { return edit_distance(name, rule.key.name); };
    const auto nearest = std::ranges::min_element(rules(), {}, distance);
    if (distance(*nearest) <= kSuggestionDistanceMax) {
        return fmt::format("unknown key '{}'; did you mean '{}'?", name, nearest->key.name);
    }
    std::vector<std::string_view> names;
    std::ranges::transform(rules(), std::back_inserter(names),
                           [](const KeyRule& rule) { return rule.key.name; });
    return fmt::format("unknown key '{}'; the keys are {}", name, fmt::join(names, ", "));
}

std::string unknown_manager_key(std::string_view name) {
    std::vector<std::string_view> names;
    for (const KeyRule& rule : rules()) {
        if (rule.about == About::kManager) {
            names.push_back(rule.key.name);
        }
    }
    return fmt::format("'{}' is no key of the subnet manager; they are {}", name,
                       fmt::join(names, ", "));
}

std::string position(const std::string& file, const toml::source_region& region) {
    return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

std::optional<Value> to_value(const toml::node& node) {
    if (const auto number = node.value_exact<std::int64_t>()) {
        return *number;
    }
    if (const auto text = node.value_exact<std::string>()) {
        return *text;
    }
    if (const auto on = node.value_exact<bool>()) {
        return *on;
    }
    const toml::array* const array = node.as_array();
    if (array == nullptr) {
        return std::nullopt;
    }
    Numbers numbers;
    for (const toml::node& element : *array) {
        const auto number = element.value_exact<std::int64_t>();
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
    }
    return numbers;
}

const char* type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "an array";
        case toml::node_type::floating_point:
            return "a floating-point number";
        case toml::node_type::boolean:
            return "true or false";
        default:
            return "a date or time";
    }
}

/// The value itself may be one that no key takes; the wish of the key is then still worth saying.
std::string wrong_type(const KeyRule& rule, const toml::node& node) {
    Description scratch;
    const auto result = rule.set(scratch, Numbers{});
    std::string wish = result ? "something else" : result.error();
    wish = wish.substr(0, wish.rfind(", not "));
    return fmt::format("'{}' {}, not {}", rule.key.name, wish, type_name(node));
}

/// A key as its origin shows it: "--hosts", or "lab.toml:3:1: 'hosts'".
std::string key_at(const std::string& key, const std::string& origin) {
    return origin.starts_with("--") ? origin : fmt::format("{}: '{}'", origin, key);
}

std::expected<topo::Fabric, std::string> read_fabric(const Description& description) {
    for (const auto& [key, origin] : description.origins) {
        const KeyRule* const rule = find_rule(key);
        if (rule != nullptr && rule->about == About::kShape) {
            return std::unexpected(
                fmt::format("{} is for a fabric that is generated, but {} has one already: leave "
                            "out one of the two",
                            key_at(key, origin), description.from));
        }
    }
    auto fabric = topo::read_netlist(description.netlist, description.from);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    fabric->name = description.spec.name;
    return std::move(*fabric);
}

/// One key of a file; `in_section`: it stands below [sm].
Result take_entry(const toml::key& key, const toml::node& node, const std::string& file,
                  bool in_section, Description& description) {
    const KeyRule* const rule = find_rule(key.str());
    const bool known = rule != nullptr && (!in_section || rule->about == About::kManager);
    if (!known) {
        return std::unexpected(
            fmt::format("{}: {}", position(file, key.source()),
                        in_section ? unknown_manager_key(key.str()) : unknown_key(key.str())));
    }
    const std::string where = position(file, node.source());
    const auto value = to_value(node);
    if (!value) {
        return std::unexpected(fmt::format("{}: {}", where, wrong_type(*rule, node)));
    }
    if (const auto set = rule->set(description, *value); !set) {
        return std::unexpected(fmt::format("{}: '{}' {}", where, rule->key.name, set.error()));
    }
    description.origins.insert_or_assign(std::string(rule->key.name), where);
    return {};
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
    static const std::vector<ConfigKey> keys = [] {
        std::vector<ConfigKey> all;
        for (const KeyRule& rule : rules()) {
            all.push_back(rule.key);
        }
        return all;
    }();
    return keys;
}

std::string flag_name(std::string_view key) {
    std::string flag = fmt::format("--{}", key);
    std::ranges::replace(flag, '_', '-');
    return flag;
}

Result parse_description(std::string_view text, const std::string& file, Description& description) {
    toml::table table;
    try {
        table = toml::parse(text, file);
    } catch (const toml::parse_error& error) {
        return std::unexpected(
            fmt::format("{}: {}", position(file, error.source()), error.description()));
    }
    for (auto&& [key, node] : table) {
        if (const toml::table* const section = key == "sm" ? node.as_table() : nullptr) {
            for (auto&& [inner, value] : *section) {
                if (auto taken = take_entry(inner, value, file, true, description); !taken) {
                    return taken;
                }
            }
            continue;
        }
        if (auto taken = take_entry(key, node, file, false, description); !taken) {
            return taken;
        }
    }
    return {};
}

Result apply_flag(std::string_view key, const std::string& text, Description& description) {
    const KeyRule* const rule = find_rule(key);
    if (rule == nullptr) {
        return std::unexpected(unknown_key(key));
    }
    Value value = text;
    if (rule->form == Form::kNumber) {
        if (const auto number = parse_number(text)) {
            value = *number;
        }
    } else if (rule->form == Form::kSwitch && (text == "true" || text == "false")) {
        value = text == "true";
    }
    if (const auto set = rule->set(description, value); !set) {
        return std::unexpected(fmt::format("{} {}", flag_name(rule->key.name), set.error()));
    }
    description.origins.insert_or_assign(std::string(rule->key.name), flag_name(rule->key.name));
    return {};
}

std::expected<topo::Fabric, std::string> generate(const Description& description) {
    const auto blame = [&](const char* key, const char* message) {
        const auto origin = description.origins.find(key);
        return std::unexpected(origin == description.origins.end()
                                   ? std::string(message)
                                   : fmt::format("{}: {}", origin->second, message));
    };
    if (!description.partitions.empty() && description.manager != "softib") {
        return blame("partitions",
                     "partitions are for our subnet manager, and there is none: leave out "
                     "--partitions, or --sm none");
    }
    if (description.link_layer == hca::LinkLayer::kEthernet &&
        (description.manager == "opensm" || !description.partitions.empty())) {
        return blame("link_layer",
                     "there is no subnet manager on Ethernet: leave out --sm opensm and "
                     "--partitions, or --link-layer ethernet");
    }
    if (!description.from.empty()) {
        auto fabric = read_fabric(description);
        return fabric ? with_trunks(std::move(*fabric), description) : std::move(fabric);
    }
    auto fabric = topo::generate(description.spec);
    if (fabric) {
        topo::set_site(*fabric, description.site);
        return with_trunks(std::move(*fabric), description);
    }
    const std::string& message = fabric.error().message;
    // The generators name the field they refuse first.
    std::size_t best = std::string::npos;
    std::string where;
    for (const auto& [key, origin] : description.origins) {
        const std::size_t at = message.find(key);
        if (at < best) {
            best = at;
            where = origin + ": ";
        }
    }
    return std::unexpected(where + message);
}

std::expected<std::uint64_t, std::string> parse_bytes(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    constexpr std::string_view kUnits = "KMGT";
    unsigned shift = 0;
    if (!unit.empty()) {
        const std::size_t at = kUnits.find(static_cast<char>(unit.front() & ~0x20));
        const std::string_view rest = unit.substr(1);
        if (at == std::string_view::npos || !(rest.empty() || rest == "iB" || rest == "B")) {
            return std::unexpected(fmt::format("'{}' is no size; write it as 512M or 4G", text));
        }
        shift = static_cast<unsigned>(10 * (at + 1));
    }
    if (error != std::errc{} || number > std::numeric_limits<std::uint64_t>::max() >> shift) {
        return std::unexpected(fmt::format("'{}' is no size; write it as 512M or 4G", text));
    }
    return number << shift;
}

}  // namespace softib::spec
