// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace softib::telemetry {

namespace {

constexpr std::array<std::string_view, 6> kKeys{"name",  "quantity", "above",
                                                "below", "for",      "severity"};

std::string place(const std::string& file, const toml::node& node) {
    return fmt::format("{}:{}:{}", file, node.source().begin.line, node.source().begin.column);
}

std::optional<Severity> parse_severity(std::string_view text) {
    if (text == "info") {
        return Severity::kInfo;
    }
    if (text == "warning") {
        return Severity::kWarning;
    }
    if (text == "minor") {
        return Severity::kMinor;
    }
    if (text == "critical") {
        return Severity::kCritical;
    }
    return std::nullopt;
}

std::size_t find_counter(std::string_view name) {
    for (std::size_t i = 0; i < counters::kPortCounters.size(); ++i) {
        if (counters::kPortCounters[i].name == name) {
            return i;
        }
    }
    return SIZE_MAX;
}

std::string quantities() {
    std::vector<std::string_view> names(kOwnQuantities.begin(), kOwnQuantities.end());
    for (const auto& row : counters::kPortCounters) {
        names.push_back(row.name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Reads one [[rule]] table of a file.
class RuleReader {
  public:
    RuleReader(const toml::table& table, const std::string& file) : table_(table), file_(file) {}

    std::expected<Rule, std::string> read() {
        check_keys();
        text("name", rule_.name);
        text("quantity", rule_.quantity);
        limit();
        duration();
        severity();
        rule_.counter = find_counter(rule_.quantity);
        if (error_.empty() && rule_.counter == SIZE_MAX &&
            std::ranges::find(kOwnQuantities, rule_.quantity) == kOwnQuantities.end()) {
            error_ =
                fmt::format("{}: no quantity '{}'; there are {}",
                            place(file_, *table_.get("quantity")), rule_.quantity, quantities());
        }
        return error_.empty() ? std::expected<Rule, std::string>(rule_) : std::unexpected(error_);
    }

  private:
    void refuse(const toml::node& node, std::string_view what) {
        if (error_.empty()) {
            error_ = fmt::format("{}: {}", place(file_, node), what);
        }
    }
    void check_keys() {
        for (const auto& [key, value] : table_) {
            if (std::ranges::find(kKeys, key.str()) == kKeys.end()) {
                refuse(value, fmt::format("a rule has no key '{}'; it has {}", key.str(),
                                          fmt::join(kKeys, ", ")));
            }
        }
    }
    void text(std::string_view key, std::string& value) {
        const toml::node* const node = table_.get(key);
        if (node == nullptr || !node->is_string() || node->as_string()->get().empty()) {
            refuse(node == nullptr ? table_ : *node,
                   fmt::format("a rule needs a text as its '{}'", key));
            return;
        }
        value = node->as_string()->get();
    }
    void limit() {
        const toml::node* const above = table_.get("above");
        const toml::node* const below = table_.get("below");
        if ((above == nullptr) == (below == nullptr)) {
            refuse(table_, "a rule needs either 'above' or 'below'");
            return;
        }
        rule_.is_below = below != nullptr;
        const toml::node& node = rule_.is_below ? *below : *above;
        const auto number = node.value<double>();
        if (!number || !std::isfinite(*number) || *number < 0) {
            refuse(node, "the limit must be a number of 0 or more");
            return;
        }
        rule_.limit = *number;
    }
    void duration() {
        const toml::node* const node = table_.get("for");
        if (node == nullptr) {
            return;
        }
        const auto seconds = node->value_exact<std::int64_t>();
        if (!seconds || *seconds < 1 || *seconds > 86'400) {
            refuse(*node, "'for' must be a number of seconds from 1 to 86400");
            return;
        }
        rule_.seconds = static_cast<std::uint32_t>(*seconds);
    }
    void severity() {
        const toml::node* const node = table_.get("severity");
        if (node == nullptr) {
            return;
        }
        const auto chosen = parse_severity(node->value_or(std::string_view{}));
        if (!chosen) {
            refuse(*node, "the severity must be info, warning, minor or critical");
            return;
        }
        rule_.severity = *chosen;
    }

    const toml::table& table_;
    const std::string& file_;
    Rule rule_;
    std::string error_;
};

}  // namespace

std::vector<Rule> built_in_rules() {
    std::vector<Rule> rules{
        {"congestion", "xmit_wait_share", 0.2, false, 5, Severity::kWarning},
        {"bit_error_rate", "ber", 1e-12, false, 3, Severity::kMinor},
        {"symbol_errors", "symbol_errors", 10, false, 3, Severity::kWarning},
        {"receive_errors", "rcv_errors", 1, false, 3, Severity::kWarning},
        {"link_integrity", "link_integrity_errors", 0, false, 1, Severity::kMinor},
        {"link_recoveries", "link_recoveries", 1, false, 1, Severity::kWarning},
        {"buffer_overruns", "buffer_overruns", 0, false, 1, Severity::kWarning},
        {"vl15_dropped", "vl15_dropped", 10, false, 3, Severity::kWarning},
        {"discards", "xmit_discards", 10, false, 3, Severity::kWarning},
        {"partition_violations", "rcv_constraint_errors", 1, false, 1, Severity::kWarning},
        {"slow_link", "speed_share", 0.99, true, 1, Severity::kMinor},
    };
    for (Rule& rule : rules) {
        rule.counter = find_counter(rule.quantity);
    }
    return rules;
}

std::expected<std::vector<Rule>, std::string> parse_rules(std::string_view text,
                                                          const std::string& file) {
    toml::table root;
    try {
        root = toml::parse(text, file);
    } catch (const toml::parse_error& error) {
        return std::unexpected(fmt::format("{}:{}:{}: {}", file, error.source().begin.line,
                                           error.source().begin.column, error.description()));
    }
    for (const auto& [key, value] : root) {
        if (key.str() != "rule") {
            return std::unexpected(fmt::format("{}: no key '{}'; rules stand below [[rule]]",
                                               place(file, value), key.str()));
        }
    }
    const toml::node* const list = root.get("rule");
    if (list == nullptr) {
        return std::vector<Rule>{};
    }
    if (!list->is_array_of_tables()) {
        return std::unexpected(
            fmt::format("{}: write each rule below a line [[rule]]", place(file, *list)));
    }
    std::vector<Rule> rules;
    for (const toml::node& node : *list->as_array()) {
        auto rule = RuleReader(*node.as_table(), file).read();
        if (!rule) {
            return std::unexpected(rule.error());
        }
        if (std::ranges::find(rules, rule->name, &Rule::name) != rules.end()) {
            return std::unexpected(
                fmt::format("{}: there is a rule '{}' already: its alarms would "
                            "be taken for those of this one",
                            place(file, node), rule->name));
        }
        rules.push_back(std::move(*rule));
    }
    return rules;
}

double value_of(const Rule& rule, const Port& port, const PortRate& rate, const PortCounts& before,
                const PortCounts& now, double seconds) {
    if (rule.counter != SIZE_MAX) {
        const auto& row = counters::kPortCounters[rule.counter];
        return static_cast<double>(growth(value_of(row, before), value_of(row, now))) / seconds;
    }
    if (rule.quantity == "load") {
        return double{load_of(port, rate)};
    }
    if (rule.quantity == "errors") {
        return double{rate.errors};
    }
    if (rule.quantity == "xmit_wait_share") {
        return double{rate.wait_share};
    }
    if (rule.quantity == "speed_share") {
        return port.nominal_mbps == 0 ? 1.0 : double(port.active_mbps) / double(port.nominal_mbps);
    }
    const double bits = 1e6 * double(port.active_mbps) * seconds;  // A link never stops sending.
    const auto errors = growth(before.symbol_errors, now.symbol_errors);
    return bits > 0 ? static_cast<double>(errors) / bits : 0;
}

}  // namespace softib::telemetry
