// SPDX-License-Identifier: BSD-2-Clause
#include "run/comparison.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include "answer/json_text.h"
#include "plan/units.h"
#include "run/basis.h"
#include "run/csv.h"
#include "spec/scenario/serves.h"

namespace softib::run {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

ComparedFigures figures_of(const Report& report) {
    ComparedFigures figures{plan::total_of(report.results)};
    figures.dropped = report.results.stats.discarded + report.results.stats.lost;
    std::uint64_t ports = 0;
    for (const plan::LinkResult& link : report.results.links) {
        ports += link.load.packets != 0 ? 1 : 0;
        figures.xmit_wait += link.wait;
    }
    figures.xmit_wait /= static_cast<double>(std::max<std::uint64_t>(ports, 1));
    for (const plan::CongestionTree& tree : report.results.trees) {
        figures.victims += tree.victims;
    }
    return figures;
}

std::vector<std::vector<std::string>> comparison_rows(const Comparison& comparison) {
    using Cell = std::function<std::string(const Report&, const ComparedFigures&)>;
    const auto count = [](std::uint64_t net::ModelStats::* field) -> Cell {
        return [field](const Report& report, const ComparedFigures&) {
            return std::to_string(report.results.stats.*field);
        };
    };
    const std::vector<std::pair<std::string, Cell>> kinds{
        {"delivered",
         [](const Report&, const ComparedFigures& all) {
             return fmt::format("{}/{}", all.totals.delivered, all.totals.messages);
         }},
        {"done after",
         [](const Report& report, const ComparedFigures& all) {
             return !std::isnan(all.totals.finished_us) ? plan::show_us(all.totals.finished_us)
                    : all.totals.done
                        ? std::string("never")
                        : fmt::format("not in {}", plan::show_time(report.results.duration));
         }},
        {"together", [](const Report&,
                        const ComparedFigures& all) { return plan::show_rate(all.totals.gbps); }},
        {"message: mean",
         [](const Report&, const ComparedFigures& all) {
             return plan::show_rate(all.totals.message_gbps.mean());
         }},
        {"message: slowest 1 %",
         [](const Report&, const ComparedFigures& all) {
             return plan::show_rate(all.totals.message_gbps.percentile(1));
         }},
        {"completion: median",
         [](const Report&, const ComparedFigures& all) {
             return plan::show_us(all.totals.completion_us.percentile(50));
         }},
        {"completion: 99 %",
         [](const Report&, const ComparedFigures& all) {
             return plan::show_us(all.totals.completion_us.percentile(99));
         }},
        {"completion: max",
         [](const Report&, const ComparedFigures& all) {
             return plan::show_us(all.totals.completion_us.max());
         }},
        {"packets dropped",
         [](const Report&, const ComparedFigures& all) { return std::to_string(all.dropped); }},
        {"packets sent again", count(&net::ModelStats::resent)},
        {"timeouts", count(&net::ModelStats::timeouts)},
        {"packets marked", count(&net::ModelStats::marked)},
        {"BECNs, CNPs", count(&net::ModelStats::notifications)},
        {"pause frames", count(&net::ModelStats::pauses)},
        {"XmitWait per port",
         [](const Report&, const ComparedFigures& all) {
             return fmt::format("{:.1f} %", 100 * all.xmit_wait);
         }},
        {"flows behind others' congestion",
         [](const Report& report, const ComparedFigures& all) {
             return report.adaptive ? "?" : std::to_string(all.victims);
         }},
    };
    std::vector<std::vector<std::string>> rows{{""}};
    for (const Compared& each : comparison.variants) {
        rows.front().push_back(each.name);
    }
    for (const auto& [name, cell] : kinds) {
        rows.push_back({name});
        for (const Compared& each : comparison.variants) {
            rows.back().push_back(cell(each.report, figures_of(each.report)));
        }
    }
    return rows;
}

namespace {

/// Returns the figures of one network as JSON, by name.
Json to_fields(const Compared& each) {
    const ComparedFigures all = figures_of(each.report);
    const net::ModelStats& stats = each.report.results.stats;
    return {{"name", each.name},
            {"messages", all.totals.messages},
            {"delivered", all.totals.delivered},
            {"failed", all.totals.failed},
            {"finished_us", all.totals.finished_us},
            {"gbps", all.totals.gbps},
            {"message_gbps", all.totals.message_gbps.mean()},
            {"message_gbps_p1", all.totals.message_gbps.percentile(1)},
            {"completion_us_p50", all.totals.completion_us.percentile(50)},
            {"completion_us_p99", all.totals.completion_us.percentile(99)},
            {"completion_us_max", all.totals.completion_us.max()},
            {"dropped", all.dropped},
            {"resent", stats.resent},
            {"timeouts", stats.timeouts},
            {"marked", stats.marked},
            {"notifications", stats.notifications},
            {"pauses", stats.pauses},
            {"xmit_wait", all.xmit_wait},
            {"victims", each.report.adaptive ? Json(nullptr) : Json(all.victims)}};
}

}  // namespace

std::string to_csv(const Comparison& comparison) {
    std::string text;
    for (const Compared& each : comparison.variants) {
        std::string names;
        std::string values;
        const Json fields = to_fields(each);
        for (const auto& [name, value] : fields.items()) {
            names += (names.empty() ? "" : ",") + name;
            values += (values.empty() ? "" : ",");
            values += value.is_string()         ? csv_cell(value.get<std::string>())
                      : value.is_number_float() ? csv_number(value.get<double>())
                      : value.is_null()         ? std::string()
                                                : value.dump();
        }
        text += (text.empty() ? names + "\n" : "") + values + "\n";
    }
    return text;
}

std::vector<std::string> basis_of(const Comparison& comparison) {
    std::vector<std::vector<std::string>> each;
    for (const Compared& variant : comparison.variants) {
        each.push_back(variant.report.basis);
    }
    std::vector<std::string> all = basis_of_all(each);
    for (std::string& sentence : all) {
        std::string names;
        std::size_t count = 0;
        for (std::size_t i = 0; i < each.size(); ++i) {
            if (std::ranges::find(each[i], sentence) != each[i].end()) {
                names += (count++ == 0 ? "" : ", ") + comparison.variants[i].name;
            }
        }
        if (count < each.size()) {
            sentence = names + ": " + sentence;
        }
    }
    return all;
}

std::string to_json(const Comparison& comparison) {
    Json variants = Json::array();
    for (const Compared& each : comparison.variants) {
        Json fields = to_fields(each);
        fields["report"] = Json::parse(to_json(each.report));
        variants.push_back(std::move(fields));
    }
    return answer::json_text({{"kind", spec::to_string(spec::RunKind::kCompare)},
                              {"title", comparison.title},
                              {"variants", std::move(variants)},
                              {"basis", basis_of(comparison)}});
}

}  // namespace softib::run
