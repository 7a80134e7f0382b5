// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"

namespace softib::topo {

namespace {

// Names become directory names under /sys and arguments in scripts, so they are short.
constexpr std::size_t kNameLengthMax = 50;

bool is_name(const std::string& pattern) {
    const std::string text = fill_pattern(pattern, 0);
    if (text.empty() || text.size() > kNameLengthMax || text.front() == '.' ||
        text.front() == '-') {
        return false;
    }
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return text.find_first_not_of(kAllowed) == std::string::npos;
}

std::expected<void, Error> check_pattern(const char* field, const std::string& pattern,
                                         std::uint32_t count, const char* example) {
    if (count > 1 && pattern.find("{}") == std::string::npos) {
        return refuse(
            fmt::format("{} '{}' gives {} hosts or devices the same name: put {{}} where the "
                        "number goes, as in '{}'",
                        field, pattern, count, example));
    }
    if (!is_name(pattern)) {
        return refuse(
            fmt::format("{} '{}' is no usable name: take 1 to {} letters, digits, '_', "
                        "'-' or '.', as in '{}'",
                        field, pattern, kNameLengthMax, example));
    }
    return {};
}

std::expected<void, Error> check_common(const Spec& spec) {
    if (spec.hosts == 0) {
        return refuse("a fabric needs at least one host: ask for hosts = 1 or more");
    }
    if (spec.hcas_per_host == 0) {
        return refuse("a host needs at least one HCA: ask for hcas_per_host = 1 or more");
    }
    if (auto result = check_pattern("host_pattern", spec.host_pattern, spec.hosts, "h{}");
        !result) {
        return result;
    }
    if (auto result =
            check_pattern("device_pattern", spec.device_pattern, spec.hcas_per_host, "mlx5_{}");
        !result) {
        return result;
    }
    if (spec.radix > ports_max(spec)) {
        return refuse(fmt::format(
            "radix {} is more than a switch can number, whose port numbers have 8 bits: take {} or "
            "less{}",
            spec.radix, kSwitchPortsMax,
            spec.on_paper ? ""
                          : fmt::format("; softib plan counts Ethernet switches of up to {} ports",
                                        kPaperPortsMax)));
    }
    return check_lids(spec, 1);
}

/// Refuses values that the shape does not use, since a user who gives one expects an effect.
std::expected<void, Error> check_foreign_fields(const Spec& spec) {
    struct Field {
        bool given;
        std::uint8_t key;
        const char* name;
    };
    const Field fields[] = {
        {spec.levels != 0, SpecKeys::kLevels, "levels"},
        {spec.oversubscription != Taper{}, SpecKeys::kLevels, "oversubscription"},
        {spec.spine_oversubscription != Taper{}, SpecKeys::kLevels, "spine_oversubscription"},
        {!spec.dimensions.empty(), SpecKeys::kDimensions, "dimensions"},
        {spec.hosts_per_switch != 0, SpecKeys::kHostsPerSwitch, "hosts_per_switch"},
        {spec.groups != 0, SpecKeys::kGroups, "groups"},
        {spec.switches_per_group != 0, SpecKeys::kGroups, "switches_per_group"},
    };
    const Topology& topology = topology_of(spec.shape);
    for (const Field& field : fields) {
        if (field.given && (topology.keys & field.key) == 0) {
            return refuse(fmt::format("{} belongs to {}, not to {}: leave it out or change shape",
                                      field.name, topology_names(field.key, "and"), topology.name));
        }
    }
    return {};
}

}  // namespace

std::optional<Taper> parse_taper(const std::string& text) {
    constexpr std::uint32_t kMax = 254;
    const char* const end = text.data() + text.size();
    Taper taper;
    const auto down = std::from_chars(text.data(), end, taper.down);
    if (down.ec != std::errc{}) {
        return std::nullopt;
    }
    const char* stop = down.ptr;
    if (stop != end && *stop == ':') {
        const auto up = std::from_chars(stop + 1, end, taper.up);
        if (up.ec != std::errc{}) {
            return std::nullopt;
        }
        stop = up.ptr;
    }
    const bool fits = taper.up >= 1 && taper.down >= taper.up && taper.down <= kMax;
    return stop == end && fits ? std::optional(taper) : std::nullopt;
}

std::string to_string(const Taper& taper) {
    return fmt::format("{}:{}", taper.down, taper.up);
}

std::expected<void, Error> check_lids(const Spec& spec, std::uint64_t switches) {
    const std::uint64_t hcas = std::uint64_t{spec.hosts} * spec.hcas_per_host;
    constexpr std::uint64_t kPaperNodesMax = 1U << 20;
    if (spec.on_paper && hcas + switches >= kPaperNodesMax) {
        return refuse(
            fmt::format("{} HCAs and {} switches are more than the {} that can be "
                        "counted: ask for fewer hosts or HCAs",
                        hcas, switches, kPaperNodesMax));
    }
    if (!spec.on_paper && hcas + switches > kLidUnicastMax.value) {
        return refuse(fmt::format(
            "{} HCAs and {} switches need {} LIDs, a subnet has {}: ask for "
            "fewer hosts, fewer HCAs per host or larger switches, or for several subnets "
            "with routers between them",
            hcas, switches, hcas + switches, kLidUnicastMax.value));
    }
    return {};
}

std::expected<void, Error> check_rails(const Spec& spec) {
    if (spec.hcas_per_host < 2) {
        return refuse(
            fmt::format("a {} fabric has a rail for each HCA of a host, and one HCA needs none: "
                        "take hcas 2 or more, as the 8 of a DGX, or shape fat-tree",
                        to_string(spec.shape)));
    }
    return {};
}

std::expected<Fabric, Error> generate(const Spec& spec) {
    if (spec.planes > 1) {
        return generate_planes(spec);
    }
    if (spec.subnets > 1) {
        return generate_subnets(spec);
    }
    if (spec.routers != 0) {
        return refuse("routers join subnets, and there is one: ask for subnets = 2 or more");
    }
    if (auto result = check_common(spec); !result) {
        return std::unexpected(result.error());
    }
    if (auto result = check_foreign_fields(spec); !result) {
        return std::unexpected(result.error());
    }
    return topology_of(spec.shape).generate(spec);
}

}  // namespace softib::topo
