// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/write.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "app/cli/output_files.h"
#include "app/cli/sweep/points.h"
#include "app/cli/text_file.h"
#include "app/cli/trace/trace_commands.h"
#include "plan/trace/expand.h"
#include "run/options.h"

namespace softib::app::sim {

namespace {

template <typename Type>
concept HasHtml = requires(const Type& outcome) { to_html(outcome); };
template <typename Type>
concept HasCsv = requires(const Type& outcome) { to_csv(outcome); };

/// Returns whether the outcomes of a kind have the writers that the table of forms promises.
template <std::size_t kIndex>
constexpr bool has_writers() {
    using Type = std::variant_alternative_t<kIndex, run::Outcome>;
    const auto kind = static_cast<spec::RunKind>(kIndex);
    return HasHtml<Type> == run::kinds_written_as(run::Form::kHtml).has(kind) &&
           HasCsv<Type> == run::kinds_written_as(run::Form::kCsv).has(kind);
}
static_assert(has_writers<0>() && has_writers<1>() && has_writers<2>() && has_writers<3>() &&
              has_writers<4>());

/// Writes the tables that only one simulation has.
int write_tables(const run::Outputs& out, const run::Report& report) {
    int status = 0;
    if (!out.csv_links.empty()) {
        status |= write_text(out.csv_links, links_csv(report));
    }
    if (const auto exports = trace::read_exports(out.exports); exports && !exports->empty()) {
        plan::trace::Job job = plan::trace::job_of_messages(
            report.messages, static_cast<std::uint32_t>(report.ends.size()));
        job.name = "sim";
        status |= trace::write_exports(*exports, job, to_csv(report));
    }
    return status;
}

}  // namespace

std::string to_text(const run::SweepReport& report) {
    return sweep::to_text(report) + basis_text(run::basis_of(report));
}

int write_outcome(const run::Outputs& out, const run::Outcome& outcome) {
    const auto write = [&](const auto& each) {
        using Type = std::remove_cvref_t<decltype(each)>;
        int status = 0;
        if constexpr (HasCsv<Type>) {
            if (!out.csv.empty()) {
                status |= write_text(out.csv, to_csv(each));
            }
        }
        if constexpr (std::is_same_v<Type, run::Report>) {
            status |= write_tables(out, each);
        }
        if constexpr (HasHtml<Type>) {
            if (!out.html.empty()) {
                status |= write_text(out.html, to_html(each));
            }
        }
        if (out.json) {
            status |= write_text("-", to_json(each));
        } else if (out.csv != "-" && out.csv_links != "-" && out.html != "-") {
            status |= write_text("-", to_text(each));
        }
        return status;
    };
    return std::visit(write, outcome);
}

int check_files(const run::Run& run, std::vector<std::string> read) {
    const run::Outputs& out = run.outputs;
    std::vector<OutputFile> written{{"--json", out.json ? "-" : ""},
                                    {"--csv", out.csv},
                                    {"--csv-links", out.csv_links},
                                    {"--html", out.html},
                                    {"--record", out.record}};
    if (const auto exports = trace::read_exports(out.exports)) {
        std::ranges::copy(trace::files_of(*exports), std::back_inserter(written));
    }
    read.push_back(run.scenario.fabric.from);
    for (const spec::TrafficWish& wish : run.scenario.traffics) {
        read.push_back(wish.pairs_file);
    }
    if (const auto* const sweep = std::get_if<run::Sweep>(&run.kind)) {
        read.push_back(sweep->axes.file);
    }
    return check_outputs(written, read);
}

}  // namespace softib::app::sim
