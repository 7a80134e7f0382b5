// SPDX-License-Identifier: BSD-2-Clause
#include "spec/cluster/failures_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/nearest.h"
#include "spec/scenario/toml_file.h"
#include "spec/value.h"

namespace softib::spec {

namespace {

using plan::FailureKind;
using plan::Failures;

constexpr double kRateMost = 1e12;
constexpr double kHoursMost = 1e5;
constexpr std::string_view kKindKeys[] = {"of",      "per_million_hours", "loses", "hangs",
                                          "planned", "replaced",          "source"};
constexpr std::string_view kNeeded[] = {"of", "per_million_hours", "loses"};

class FailuresReader {
  public:
    explicit FailuresReader(const std::string& file) : file_(file) {}

    std::expected<Failures, std::string> read(const toml::table& table) {
        for (auto&& [key, node] : table) {
            if (auto taken = take(key, node); !taken) {
                return std::unexpected(taken.error());
            }
        }
        return std::move(failures_);
    }

  private:
    std::unexpected<std::string> refuse(const toml::source_region& where,
                                        const std::string& message) const {
        return std::unexpected(fmt::format("{}: {}", place(file_, where), message));
    }

    Result take(const toml::key& key, const toml::node& node) {
        if (key == "reset_hours" || key == "replace_hours") {
            double& hours = key == "reset_hours" ? failures_.reset_hours : failures_.replace_hours;
            return take_number(hours, key, node, kHoursMost);
        }
        const toml::table* const section = node.as_table();
        if (section == nullptr) {
            return refuse(key.source(),
                          fmt::format("unknown key '{}'; above all sections the keys are "
                                      "reset_hours and replace_hours",
                                      key.str()));
        }
        auto found = std::ranges::find(failures_.kinds, key.str(), &FailureKind::name);
        if (found == failures_.kinds.end()) {
            if (auto whole = check_new(key, *section); !whole) {
                return whole;
            }
            found = failures_.kinds.insert(found, {.name = std::string(key.str())});
        }
        found->source = file_;
        for (auto&& [name, value] : *section) {
            if (auto taken = take_field(*found, name, value); !taken) {
                return taken;
            }
        }
        return {};
    }

    /// Refuses a section of a new name that does not say everything, as one whose name is wrong.
    Result check_new(const toml::key& key, const toml::table& section) const {
        if (std::ranges::all_of(kNeeded, [&](auto name) { return section.contains(name); })) {
            return {};
        }
        std::vector<std::string_view> names;
        std::ranges::transform(failures_.kinds, std::back_inserter(names), &FailureKind::name);
        return refuse(key.source(), unknown_name("failure", key.str(), names) +
                                        "; a new one needs of, per_million_hours and loses");
    }

    Result take_field(FailureKind& kind, const toml::key& key, const toml::node& node) {
        if (key == "per_million_hours") {
            return take_number(kind.per_million_hours, key, node, kRateMost);
        }
        if (key == "replaced") {
            return take_number(kind.replaced, key, node, 1);
        }
        if (key == "hangs" || key == "planned") {
            const auto on = node.value_exact<bool>();
            (key == "hangs" ? kind.hangs : kind.planned) = on.value_or(false);
            return on ? Result{}
                      : refuse(node.source(), fmt::format("'{}' must be true or false", key.str()));
        }
        const auto text = node.value_exact<std::string>().value_or("");
        if (key == "of") {
            const auto of = plan::parse_failure_of(text);
            kind.of = of.value_or(kind.of);
            return of ? Result{} : refuse(node.source(), "'of' must be gpu, nic, node or job");
        }
        if (key == "loses") {
            const auto loses = plan::parse_loses(text);
            kind.loses = loses.value_or(kind.loses);
            return loses ? Result{}
                         : refuse(node.source(), "'loses' must be nothing, node, nic or link");
        }
        if (key == "source") {
            kind.source = text;
            return node.is_string() ? Result{} : refuse(node.source(), "'source' must be a text");
        }
        return refuse(key.source(), unknown_name("key", key.str(), kKindKeys));
    }

    Result take_number(double& field, const toml::key& key, const toml::node& node,
                       double most) const {
        const auto number = node.is_number() ? node.value<double>() : std::nullopt;
        if (!number || !(*number >= 0 && *number <= most)) {
            return refuse(node.source(),
                          fmt::format("'{}' must be a number from 0 to {}", key.str(), most));
        }
        field = *number;
        return {};
    }

    const std::string& file_;
    Failures failures_ = plan::default_failures();
};

}  // namespace

std::expected<Failures, std::string> parse_failures(std::string_view text,
                                                    const std::string& file) {
    const auto table = parse_toml(text, file);
    return table ? FailuresReader(file).read(*table) : std::unexpected(table.error());
}

std::expected<Failures, std::string> load_failures(const std::string& file) {
    const auto text = read_text(file);
    return text ? parse_failures(*text, file) : std::unexpected(text.error());
}

}  // namespace softib::spec
