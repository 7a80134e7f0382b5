// SPDX-License-Identifier: BSD-2-Clause
#include "plan/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace softib::plan {

namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array kSizes{Unit{"", 1},
                            Unit{"B", 1},
                            Unit{"kB", 1e3},
                            Unit{"KB", 1e3},
                            Unit{"MB", 1e6},
                            Unit{"GB", 1e9},
                            Unit{"TB", 1e12},
                            Unit{"K", 1024},
                            Unit{"KiB", 1024},
                            Unit{"M", 1048576},
                            Unit{"MiB", 1048576},
                            Unit{"G", 1073741824},
                            Unit{"GiB", 1073741824},
                            Unit{"T", 1099511627776},
                            Unit{"TiB", 1099511627776}};
constexpr std::array kTimes{Unit{"ps", 1},   Unit{"ns", 1e3}, Unit{"us", 1e6},
                            Unit{"µs", 1e6}, Unit{"ms", 1e9}, Unit{"s", 1e12}};
constexpr std::array kRates{Unit{"b/s", 1},    Unit{"kb/s", 1e3},  Unit{"Mb/s", 1e6},
                            Unit{"Gb/s", 1e9}, Unit{"Tb/s", 1e12}, Unit{"G", 1e9},
                            Unit{"B/s", 8},    Unit{"kB/s", 8e3},  Unit{"MB/s", 8e6},
                            Unit{"GB/s", 8e9}, Unit{"TB/s", 8e12}, Unit{"Gbit/s", 1e9}};

/// The largest quantity: up to about here a double holds every whole number.
constexpr double kMost = 9e15;

std::expected<double, std::string> parse(std::string_view text, std::span<const Unit> units,
                                         std::string_view kind, std::string_view example) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    while (!rest.empty() && rest.front() == ' ') {
        rest.remove_prefix(1);
    }
    if (error == std::errc{} && number >= 0) {
        for (const Unit& unit : units) {
            if (rest == unit.name && number * unit.factor <= kMost) {
                return number * unit.factor;
            }
        }
    }
    return std::unexpected(fmt::format("must be a {} as {}, not \"{}\"", kind, example, text));
}

}  // namespace

std::expected<std::uint64_t, std::string> parse_size(std::string_view text) {
    const auto bytes = parse(text, kSizes, "size", "2MB, 64KiB or 512");
    if (!bytes) {
        return std::unexpected(bytes.error());
    }
    return static_cast<std::uint64_t>(std::llround(*bytes));
}

std::expected<TimePs, std::string> parse_time(std::string_view text) {
    const auto time = parse(text, kTimes, "time", "50us or 1.5ms");
    if (!time) {
        return std::unexpected(time.error());
    }
    return static_cast<TimePs>(std::llround(*time));
}

std::expected<double, std::string> parse_rate(std::string_view text) {
    auto rate = parse(text, kRates, "rate", "100Gb/s or 12.5GB/s");
    if (rate && *rate < 1e6) {
        return std::unexpected(fmt::format("must be at least 1Mb/s, not \"{}\"", text));
    }
    return rate;
}

std::expected<double, std::string> parse_part(std::string_view text) {
    constexpr std::array kParts{Unit{"", 1}, Unit{"%", 0.01}};
    auto part = parse(text, kParts, "part of 1", "0.3 or 30%");
    if (part && *part > 1) {
        return std::unexpected(fmt::format("must be a part of 1 as 0.3 or 30%, not \"{}\"", text));
    }
    return part;
}

std::expected<double, std::string> parse_message_rate(std::string_view text) {
    constexpr std::array kMessages{Unit{"", 1}, Unit{"k", 1e3}, Unit{"M", 1e6}, Unit{"G", 1e9}};
    auto rate = parse(text, kMessages, "number of messages", "200M or 5000000");
    if (rate && (*rate < 1 || *rate > 1e12)) {
        return std::unexpected(
            fmt::format("must be from 1 to 1000G messages a second, not \"{}\"", text));
    }
    return rate;
}

std::expected<std::uint64_t, std::string> parse_count(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::unexpected(fmt::format("must be a whole number, not \"{}\"", text));
    }
    return number;
}

namespace {

std::string show(double value, std::span<const Unit> units) {
    const Unit* best = &units.front();
    for (const Unit& unit : units) {
        if (value >= unit.factor) {
            best = &unit;
        }
    }
    const double shown = value / best->factor;
    const int digits = shown == std::floor(shown) && shown < 1000 ? 0
                       : shown < 10                               ? 2
                       : shown < 100                              ? 1
                                                                  : 0;
    return fmt::format("{:.{}f} {}", shown, digits, best->name);
}

}  // namespace

std::string show_size(std::uint64_t bytes) {
    constexpr std::array kShown{Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9},
                                Unit{"TB", 1e12}};
    return show(static_cast<double>(bytes), kShown);
}

std::string show_time(TimePs time) {
    constexpr std::array kShown{Unit{"ps", 1}, Unit{"ns", 1e3}, Unit{"us", 1e6}, Unit{"ms", 1e9},
                                Unit{"s", 1e12}};
    return time == kNever ? "never" : show(static_cast<double>(time), kShown);
}

std::string show_us(double us) {
    return std::isnan(us) ? "-" : show_time(static_cast<TimePs>(us * 1e6));
}

std::string show_rate(double gbps) {
    return std::isnan(gbps) ? "-"
           : gbps >= 10'000 ? fmt::format("{:.1f} Tb/s", gbps / 1000)
           : gbps >= 0.1    ? fmt::format("{:.1f} Gb/s", gbps)
           : gbps >= 0.001  ? fmt::format("{:.2f} Mb/s", gbps * 1000)
                            : fmt::format("{:.3g} Gb/s", gbps);
}

std::string counted(std::uint64_t count, std::string_view what) {
    const char* const plural = what.ends_with("ch") || what.ends_with("s") ? "es" : "s";
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : plural);
}

std::uint32_t block_ps(double bits_per_second) {
    return static_cast<std::uint32_t>(std::llround(64 * 8 * 1e12 / bits_per_second));
}

}  // namespace softib::plan
