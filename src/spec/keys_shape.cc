// SPDX-License-Identifier: BSD-2-Clause
// Keys of the fabric itself: its name, the file it is read from, and the shape that is generated.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/topo/spec.h"
#include "core/topo/subnets.h"
#include "core/topo/topology.h"
#include "spec/fabric_name.h"
#include "spec/key_rule.h"

namespace softib::spec {

namespace {

using topo::Spec;

constexpr std::int64_t kHostsMax = std::int64_t{kLidUnicastMax.value} * topo::kSubnetsMax;
constexpr std::int64_t kHcasPerHostMax = 64;
constexpr std::int64_t kSwitchPortsMax = 254;
constexpr std::int64_t kRadixMax = 512;  // A fabric that runs is refused from 255 on: generate().
constexpr std::int64_t kLevelsMax = 3;

Result set_name(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        return refuse("a text", value);
    }
    description.spec.name = *text;
    return check_fabric_name(*text);
}

Result set_topology(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto shape = text == nullptr ? std::nullopt : topo::parse_shape(*text);
    if (!shape) {
        return refuse("one of " + topo::topology_names(0, "or"), value);
    }
    description.spec.shape = *shape;
    return {};
}

template <topo::Taper topo::Spec::* kField>
Result set_taper(Description& description, const Value& value) {
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

Result set_generation(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto generation = text == nullptr ? std::nullopt : topo::parse_generation(*text);
    if (!generation) {
        return refuse(topo::generation_names("or"), value);
    }
    description.spec.generation = *generation;
    return {};
}

Result set_dimensions(Description& description, const Value& value) {
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

}  // namespace

std::span<const KeyRule> name_keys() {
    static constexpr KeyRule kRules[] = {
        {{"name", "NAME", "name of the fabric"}, Form::kText, set_name, About::kOther},
        {{"from", "FILE", "take the fabric from a file of ibnetdiscover or ibsim"},
         Form::kText,
         set_file<&Description::from>,
         About::kOther,
         true},
    };
    return kRules;
}

std::span<const KeyRule> shape_keys() {
    static const std::string kNames = topo::topology_names(0, "or");
    static const std::string kSpeeds = "link speed: " + topo::generation_names("or");
    static const KeyRule kRules[] = {
        {{"topology", "SHAPE", kNames, "single-switch"}, Form::kText, set_topology},
        {{"hosts", "N", "virtual hosts", "2"},
         Form::kNumber,
         set_number<&Spec::hosts, 1, kHostsMax>},
        {{"hcas", "N", "HCAs per host", "1"},
         Form::kNumber,
         set_number<&Spec::hcas_per_host, 1, kHcasPerHostMax>},
        {{"radix", "N", "ports per switch (default: as needed)"},
         Form::kNumber,
         set_number<&Spec::radix, 0, kRadixMax>},
        {{"levels", "N", "trees: levels of switches, 2 or 3 (default: as needed)"},
         Form::kNumber,
         set_number<&Spec::levels, 0, kLevelsMax>},
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
          "fat-tree (at a leaf), torus, hyperx, dragonflies: HCAs per switch (default: as needed)"},
         Form::kNumber,
         set_number<&Spec::hosts_per_switch, 0, kSwitchPortsMax>},
        {{"groups", "N", "dragonflies: groups"},
         Form::kNumber,
         set_number<&Spec::groups, 0, kHostsMax>},
        {{"switches_per_group", "N", "dragonflies: switches per group (dragonfly-plus: leaves)"},
         Form::kNumber,
         set_number<&Spec::switches_per_group, 0, kSwitchPortsMax>},
        {{"subnets", "N", "subnets, each with a part of the hosts and LIDs of its own", "1"},
         Form::kNumber,
         set_number<&Spec::subnets, 1, topo::kSubnetsMax>},
        {{"routers", "N", "routers between subnets, each with a port in every one"},
         Form::kNumber,
         set_number<&Spec::routers, 0, kSwitchPortsMax>},
        {{"planes", "N", "fabrics that share nothing, each with an HCA for each HCA of a host",
          "1"},
         Form::kNumber,
         set_number<&Spec::planes, 1, kHcasPerHostMax>},
        {{"generation", "GEN", kSpeeds, "NDR"}, Form::kText, set_generation},
        {{"device_pattern", "TEXT", "device names, {} is the number", "mlx5_{}"},
         Form::kText,
         set_some_text<&Spec::device_pattern>},
        {{"host_pattern", "TEXT", "host names, {} is the number", "h{}"},
         Form::kText,
         set_some_text<&Spec::host_pattern>},
    };
    return kRules;
}

}  // namespace softib::spec
