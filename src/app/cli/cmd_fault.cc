// SPDX-License-Identifier: BSD-2-Clause
// softib fault: sets faults of cables (loss, corruption, delay, rate), or shows those that are set.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/link_name.h"
#include "app/fabric/launch.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "view/names.h"

namespace softib::app {

namespace {

using Number = std::expected<std::uint32_t, std::string>;

struct Unit {
    std::string_view name;
    double value;
};

/// Reads a number with a unit behind it, and returns it in the unit whose value is 1. `least` is
/// what 1 means: less than that would be 0.
Number parse(const std::string& text, const std::vector<Unit>& units, double most,
             std::string_view what, std::string_view least) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, bad] = std::from_chars(text.data(), end, number);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    for (const Unit& known : units) {
        if (bad == std::errc{} && unit == known.name) {
            const double value = std::round(number * known.value);
            if (value == 0 && number > 0) {
                return std::unexpected(fmt::format("'{}' is less than {}", text, least));
            }
            if (value >= 0 && value <= most) {
                return static_cast<std::uint32_t>(value);
            }
        }
    }
    return std::unexpected(fmt::format("'{}' is no {}", text, what));
}

Number parse_part(const std::string& text) {
    return parse(text, {{"", 1e6}, {"%", 1e4}}, 1e6, "part of packets; write it as 1e-4 or 0.01%",
                 "one packet in a million");
}

Number parse_delay(const std::string& text) {
    return parse(text, {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}, 4e6,
                 "delay up to 4 ms; write it as 500ns or 10us", "a nanosecond");
}

Number parse_rate(const std::string& text) {
    return parse(text, {{"", 1e-6}, {"M", 1}, {"G", 1e3}, {"T", 1e6}}, 4e9,
                 "rate; write it as 500M or 10G", "a megabit per second");
}

nlohmann::json shown(const shm::LinkFaults& faults, const std::string& from) {
    return {{"from", from},
            {"drop", faults.lost_ppm.load() / 1e6},
            {"corrupt", faults.broken_ppm.load() / 1e6},
            {"delay_ns", faults.delay_ns.load()},
            {"rate_mbps", faults.rate_mbps.load()}};
}

bool any(const shm::LinkFaults& faults) {
    return (faults.lost_ppm.load() | faults.broken_ppm.load() | faults.delay_ns.load() |
            faults.rate_mbps.load()) != 0;
}

int list(const Observer& observer, bool json) {
    const shm::Arena& arena = observer.arena();
    nlohmann::json all = nlohmann::json::array();
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        if (any(arena.hcas[i].faults)) {
            all.push_back(
                shown(arena.hcas[i].faults, view::node_name(arena, {shm::NodeRef::kHca, i})));
        }
    }
    for (std::uint32_t i = 0; i < arena.header->switch_ports; ++i) {
        if (any(arena.switch_ports[i].faults)) {
            all.push_back(shown(arena.switch_ports[i].faults, switch_port_name(arena, i)));
        }
    }
    if (json) {
        fmt::print("{}\n", all.dump(2));
        return 0;
    }
    if (all.empty()) {
        fmt::print("no faults are set\n");
        return 0;
    }
    fmt::print("{:<20} {:>10} {:>10} {:>12} {:>12}\n", "SENT BY", "DROP", "CORRUPT", "DELAY",
               "RATE");
    for (const auto& one : all) {
        const auto rate = one["rate_mbps"].get<std::uint32_t>();
        fmt::print("{:<20} {:>10} {:>10} {:>9} ns {:>12}\n", one["from"].get<std::string>(),
                   one["drop"].get<double>(), one["corrupt"].get<double>(),
                   one["delay_ns"].get<std::uint32_t>(),
                   rate == 0 ? "its own" : fmt::format("{} Mb/s", rate));
    }
    return 0;
}

std::expected<shm::WantedFaults, std::string> wanted_of(const FaultOptions& options) {
    shm::WantedFaults wanted;
    if (options.clear) {
        wanted = {0, 0, 0, 0};
    }
    const auto read = [](const std::string& text, Number (*parser)(const std::string&),
                         std::uint32_t& out) -> std::expected<void, std::string> {
        if (!text.empty()) {
            const Number number = parser(text);
            if (!number) {
                return std::unexpected(number.error());
            }
            out = *number;
        }
        return {};
    };
    for (const auto& result : {read(options.drop, parse_part, wanted.lost_ppm),
                               read(options.corrupt, parse_part, wanted.broken_ppm),
                               read(options.delay, parse_delay, wanted.delay_ns),
                               read(options.rate, parse_rate, wanted.rate_mbps)}) {
        if (!result) {
            return std::unexpected(result.error());
        }
    }
    return wanted;
}

}  // namespace

int cmd_fault(const FaultOptions& options) {
    const auto wanted = wanted_of(options);
    if (!wanted) {
        return misuse(wanted.error());
    }
    constexpr shm::WantedFaults kNothing;
    const bool sets = std::memcmp(&*wanted, &kNothing, sizeof kNothing) != 0;
    if (options.link.empty() && sets) {
        return misuse("which cable? name one of its ports, as sw0:1");
    }
    const auto name = options.link.empty() ? LinkName{} : parse_link(options.link);
    if (!name) {
        return misuse(name.error());
    }
    if (!options.link.empty() && !sets) {
        return misuse(
            "what should the cable do? give --drop, --corrupt, --delay, --rate or --clear");
    }
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (options.link.empty()) {
        return list(*observer, options.json);
    }
    const int error = observer->ask(
        shm::request::SetFaults{.node = name->node, .port = name->port, .faults = *wanted});
    if (error == EOPNOTSUPP) {
        return fail(
            "this fabric has no packets to lose; start it with: softib up --data-path packet");
    }
    if (error == EPROTONOSUPPORT) {
        return fail("on Ethernet packets can be lost or broken, not be late: --drop, --corrupt");
    }
    if (error == ENOENT) {
        return fail(
            fmt::format("no cable at '{}'; nodes and ports are in: softib topo", options.link));
    }
    if (error != 0) {
        return fail(why_not(error));
    }
    return options.json ? list(*observer, true) : 0;
}

}  // namespace softib::app
