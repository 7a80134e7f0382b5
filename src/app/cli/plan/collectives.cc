// SPDX-License-Identifier: BSD-2-Clause
// `softib plan collective`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/html_page.h"
#include "app/cli/json_text.h"
#include "app/cli/plan/collective_export.h"
#include "app/cli/plan/idle_options.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/text_file.h"
#include "app/fabric/term.h"
#include "plan/collective/collective_model.h"
#include "plan/collective/evidence.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

struct TimedRow {
    std::uint64_t bytes = 0;
    plan::Algorithm algorithm = plan::Algorithm::kRing;
    plan::Timing timing = {};
};

std::vector<std::string> split_list(const std::string& text, char by) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(by, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

/// Reads a size: "8", "64KiB", or "1G" as nccl-tests take it, where a letter alone is a power of
/// 1024.
std::expected<std::uint64_t, std::string> read_size(std::string text) {
    if (!text.empty() && std::string("KMGT").find(text.back()) != std::string::npos) {
        text += "iB";
    }
    auto size = plan::parse_size(text);
    if (!size) {
        return std::unexpected(fmt::format("--sizes: {}", size.error()));
    }
    if (*size == 0) {
        return std::unexpected("--sizes: an operation of no bytes moves nothing: write 1 or more");
    }
    return size;
}

std::expected<std::vector<std::uint64_t>, std::string> read_sizes(const std::string& text) {
    std::vector<std::uint64_t> sizes;
    const std::vector<std::string> range = split_list(text, ':');
    if (range.size() == 2) {
        const auto low = read_size(range[0]);
        const auto high = read_size(range[1]);
        if (!low || !high) {
            return std::unexpected(!low ? low.error() : high.error());
        }
        if (*high < *low) {
            return std::unexpected(
                fmt::format("--sizes {}: write FROM:TO with TO not less than FROM", text));
        }
        for (std::uint64_t size = *low; size <= *high; size *= 2) {
            sizes.push_back(size);
        }
        return sizes;
    }
    for (const std::string& word : split_list(text, ',')) {
        const auto size = read_size(word);
        if (!size) {
            return std::unexpected(size.error());
        }
        if (std::ranges::find(sizes, *size) != sizes.end()) {
            return std::unexpected(fmt::format("--sizes: {} is there twice", word));
        }
        sizes.push_back(*size);
    }
    return sizes;
}

/// Returns the algorithms that a text names; an empty list for "nccl", which means the one that
/// NCCL would choose for each size.
std::expected<std::vector<plan::Algorithm>, std::string> read_algorithms(const std::string& text,
                                                                         plan::Op op) {
    if (text == "nccl") {
        return std::vector<plan::Algorithm>{};
    }
    if (text == "all") {
        return plan::algorithms_of(op);
    }
    std::vector<plan::Algorithm> result;
    for (const std::string& word : split_list(text, ',')) {
        const auto algorithm = plan::parse_algorithm(word);
        if (!algorithm) {
            return std::unexpected("--algorithms: " + algorithm.error());
        }
        if (std::ranges::find(result, *algorithm) != result.end()) {
            return std::unexpected(fmt::format("--algorithms: {} is there twice", word));
        }
        result.push_back(*algorithm);
    }
    return result;
}

plan::CollectiveOptions options_of(const PlanCollectiveOptions& options, plan::TimePs step) {
    plan::CollectiveOptions result;
    constexpr double kPsPerUs = 1e6;
    result.step_us = static_cast<double>(step) / kPsPerUs;
    result.channels = options.channels;
    result.collnet = options.collnet;
    result.order =
        options.order == "random" ? plan::RankOrder::kRandom : plan::RankOrder::kTopology;
    result.rails_aligned = !options.rails_crossed;
    result.seed = options.seed;
    result.stack = options.stack == "mpi" ? plan::Stack::kHost : plan::Stack::kNccl;
    result.model = options.model == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow;
    return result;
}

/// What a report says beside its rows.
struct Remarks {
    std::vector<std::string> notes = {};        ///< Why an algorithm has no time.
    std::vector<std::string> assumptions = {};  ///< The model, and what it assumes.
    std::vector<std::string> evidence = {};     ///< What validates the rows, by algorithm.
};

Remarks remarks_on(const plan::CollectiveOptions& options, const plan::CollectiveModel& model,
                   plan::Op op, const std::vector<TimedRow>& rows) {
    Remarks remarks{.assumptions = plan::assumptions_of(options.stack, options.model)};
    std::map<plan::Algorithm, std::vector<plan::Question>> questions;
    for (const TimedRow& row : rows) {
        questions[row.algorithm].push_back({.stack = options.stack,
                                            .op = op,
                                            .algorithm = row.algorithm,
                                            .domains = model.layout().domains(),
                                            .bytes = row.bytes});
    }
    for (const auto& [algorithm, asked] : questions) {
        remarks.evidence.push_back(plan::show_evidence(asked));
    }
    return remarks;
}

Json rows_json(const PlanCollectiveOptions& options, const plan::CollectiveModel& model,
               const std::vector<TimedRow>& rows, const Remarks& remarks) {
    Json list = Json::array();
    for (const TimedRow& row : rows) {
        const plan::Timing& timing = row.timing;
        list.push_back({{"bytes", row.bytes},
                        {"algorithm", plan::to_string(row.algorithm)},
                        {"protocol", plan::to_string(timing.protocol)},
                        {"us", timing.us},
                        {"algbw_gbs", timing.algbw},
                        {"busbw_gbs", timing.busbw},
                        {"software_us", timing.software_us},
                        {"fabric_us", timing.fabric_us},
                        {"nvlink_us", timing.nvlink_us},
                        {"scaled", timing.scaled}});
    }
    return {{"cluster", options.cluster},
            {"op", options.op},
            {"ranks", model.ranks()},
            {"model", options.model},
            {"rows", std::move(list)},
            {"notes", remarks.notes},
            {"assumptions", remarks.assumptions},
            {"evidence", remarks.evidence}};
}

std::string rows_text(const std::vector<TimedRow>& rows) {
    Table table({"SIZE", "ALGORITHM", "PROTOCOL", "TIME us", "ALGBW GB/s", "BUSBW GB/s",
                 "SOFTWARE us", "FABRIC us", "NVLINK us"});
    for (const TimedRow& row : rows) {
        const plan::Timing& timing = row.timing;
        table.row({std::to_string(row.bytes), plan::to_string(row.algorithm),
                   plan::to_string(timing.protocol), fmt::format("{:.2f}", timing.us),
                   fmt::format("{:.2f}", timing.algbw), fmt::format("{:.2f}", timing.busbw),
                   fmt::format("{:.1f}", timing.software_us),
                   fmt::format("{:.1f}", timing.fabric_us),
                   fmt::format("{:.1f}", timing.nvlink_us)});
    }
    return table.text();
}

/// Returns a table with a row for each size and a column for each algorithm.
std::string size_table(const std::vector<TimedRow>& rows, const std::vector<Series>& series,
                       double plan::Timing::* what) {
    std::vector<std::string> header{"size"};
    std::map<std::uint64_t, std::vector<std::string>> lines;
    for (std::size_t i = 0; i < series.size(); ++i) {
        header.push_back(series[i].name);
        for (const TimedRow& row : rows) {
            std::vector<std::string>& line = lines[row.bytes];
            line.resize(series.size() + 1);
            line[0] = plan::show_size(row.bytes);
            if (series[i].name == plan::to_string(row.algorithm)) {
                line[i + 1] = fmt::format("{:.4g}", row.timing.*what);
            }
        }
    }
    std::vector<std::vector<std::string>> cells;
    for (const auto& [bytes, line] : lines) {
        cells.push_back(line);
    }
    return page_table(header, cells);
}

std::string rows_html(const std::string& title, const std::vector<TimedRow>& rows,
                      const Remarks& remarks) {
    std::vector<Series> series;
    for (const TimedRow& row : rows) {
        const std::string name = plan::to_string(row.algorithm);
        auto found = std::ranges::find(series, name, &Series::name);
        if (found == series.end()) {
            found = series.insert(series.end(), {name, {}});
        }
        found->points.emplace_back(static_cast<double>(row.bytes), row.timing.busbw);
    }
    std::string page = page_head(title) + "<h2>busbw by size, GB/s</h2>\n" +
                       line_plot(series, "GB/s") + size_table(rows, series, &plan::Timing::busbw) +
                       "<h2>Time by size, us</h2>\n" + size_table(rows, series, &plan::Timing::us);
    for (const auto* const lines : {&remarks.notes, &remarks.assumptions, &remarks.evidence}) {
        for (const std::string& line : *lines) {
            page += fmt::format("<p class=\"note\">{}</p>\n", escaped(line));
        }
    }
    return page + kPageFoot;
}

int print_rows(const PlanCollectiveOptions& options, const plan::CollectiveModel& model,
               const std::vector<TimedRow>& rows, const Remarks& remarks) {
    if (!options.html.empty()) {
        const int status = write_text(
            options.html,
            rows_html(fmt::format("{} on {} ({} GPUs)", options.op, options.cluster, model.ranks()),
                      rows, remarks));
        if (status != 0 || options.html == "-") {
            return status;
        }
    }
    if (std::ranges::find(options.exports, "csv=-") != options.exports.end()) {
        return 0;
    }
    if (options.json) {
        fmt::print("{}", json_text(rows_json(options, model, rows, remarks)));
        return 0;
    }
    fmt::print("{} on {}, {} ranks\n\n{}\n", options.op, options.cluster, model.ranks(),
               rows_text(rows));
    for (const auto* const lines : {&remarks.assumptions, &remarks.evidence}) {
        for (const std::string& line : *lines) {
            fmt::print("- {}\n", line);
        }
    }
    for (const std::string& message : remarks.notes) {
        note(message);
    }
    return 0;
}

/// A size, and an algorithm that computes it.
struct Pick {
    std::uint64_t bytes = 0;
    plan::Algorithm algorithm = plan::Algorithm::kRing;
    std::optional<plan::Protocol> protocol = {};  ///< As NCCL would choose if unset.
};

/// Returns each size with each algorithm, or with the one that NCCL would choose if there are none.
std::vector<Pick> pick(const plan::CollectiveModel& model, plan::Op op,
                       const std::vector<std::uint64_t>& sizes,
                       const std::vector<plan::Algorithm>& algorithms,
                       std::optional<plan::Protocol> protocol) {
    std::vector<Pick> picks;
    for (const std::uint64_t bytes : sizes) {
        if (algorithms.empty()) {
            picks.push_back({bytes, model.choose(op, bytes, protocol).algorithm, protocol});
        }
        for (const plan::Algorithm algorithm : algorithms) {
            picks.push_back({bytes, algorithm, protocol});
        }
    }
    return picks;
}

/// Times what was picked. Adds to `notes` why an algorithm has no time.
std::vector<TimedRow> time_rows(plan::CollectiveModel& model, plan::Op op,
                                const std::vector<Pick>& picks,
                                const std::function<void(std::size_t done, const Pick&)>& show,
                                std::vector<std::string>& notes) {
    std::vector<TimedRow> rows;
    for (std::size_t i = 0; i < picks.size(); ++i) {
        const auto& [bytes, algorithm, protocol] = picks[i];
        show(i, picks[i]);
        const auto timing = model.time(op, algorithm, bytes, protocol);
        if (timing) {
            rows.push_back({bytes, algorithm, *timing});
            continue;
        }
        const std::string note = fmt::format("{}: {}", plan::to_string(algorithm), timing.error());
        if (std::ranges::find(notes, note) == notes.end()) {
            notes.push_back(note);
        }
    }
    return rows;
}

std::vector<plan::Algorithm> algorithms_in(const std::vector<Pick>& picks) {
    std::vector<plan::Algorithm> result;
    for (const Pick& each : picks) {
        result.push_back(each.algorithm);
    }
    return result;
}

/// What the command line asks for.
struct Asked {
    plan::Op op = plan::Op::kAllReduce;
    std::vector<std::uint64_t> sizes = {};
    std::vector<plan::Algorithm> algorithms = {};  ///< Empty: as NCCL would choose.
    std::vector<trace::Export> exports = {};
    plan::TimePs step = 0;
    std::optional<plan::Protocol> protocol = {};
};

/// Looks at all files that will be written. Returns the exit status, 0 if nothing is wrong.
int check_files(const PlanCollectiveOptions& options, const std::vector<trace::Export>& exports) {
    std::vector<OutputFile> written = trace::files_of(exports);
    written.insert(written.begin(), {"--json", options.json ? "-" : ""});
    written.push_back({"--html", options.html});
    return check_outputs(written, {&options.cluster, 1});
}

std::expected<Asked, std::string> read_asked(const PlanCollectiveOptions& options) {
    const auto op = plan::parse_op(options.op);
    auto sizes = read_sizes(options.sizes);
    if (!op || !sizes) {
        return std::unexpected(!op ? op.error() : sizes.error());
    }
    auto algorithms = read_algorithms(options.algorithms, *op);
    if (!algorithms) {
        return std::unexpected(algorithms.error());
    }
    auto exports = trace::read_exports(options.exports);
    const auto step = plan::parse_time(options.step_time);
    if (!exports || !step) {
        return std::unexpected(!exports ? exports.error() : "--step-time: " + step.error());
    }
    if (const auto why = why_no_export(options); why && !exports->empty()) {
        return std::unexpected(*why);
    }
    if (const auto idle = find_idle_option(options, *op)) {
        return std::unexpected(*idle);
    }
    Asked asked{.op = *op,
                .sizes = *std::move(sizes),
                .algorithms = *std::move(algorithms),
                .exports = *std::move(exports),
                .step = *step};
    if (!options.protocol.empty()) {
        asked.protocol = *plan::parse_protocol(options.protocol);
    }
    return asked;
}

}  // namespace

int cmd_plan_collective(const PlanCollectiveOptions& options) {
    if (options.cluster.empty()) {
        return misuse("say which cluster: --cluster NAME (see: softib plan presets)");
    }
    const auto cluster = spec::find_cluster(options.cluster, options.nodes);
    if (!cluster) {
        return fail_describing(cluster.error());
    }
    auto asked = read_asked(options);
    if (!asked) {
        return misuse(asked.error());
    }
    const auto& [op, sizes, algorithms, exports, step, protocol] = *asked;
    if (const int wrong = check_files(options, exports); wrong != 0) {
        return wrong;
    }
    const plan::CollectiveOptions wanted = options_of(options, step);
    Progress progress(fmt::format("{} on {}: routing", options.op, options.cluster));
    const auto model = plan::CollectiveModel::make(*cluster, wanted);
    if (!model) {
        return fail(model.error());
    }
    const std::vector<Pick> picks = pick(**model, op, sizes, algorithms, protocol);
    if (const auto idle = find_idle_option(options, **model, algorithms_in(picks))) {
        return misuse(*idle);
    }
    if (!exports.empty() && picks.size() != 1) {
        return misuse(
            "--export is for one size and one algorithm, as --sizes 64MiB --algorithms ring");
    }
    std::vector<std::string> notes;
    if (const auto& fault = (*model)->collnet_fault()) {
        notes.push_back(
            fmt::format("CollNet cannot start, and NCCL goes on without it: {}", *fault));
    }
    const std::vector<TimedRow> rows = time_rows(
        **model, op, picks,
        [&](std::size_t done, const Pick& each) {
            progress.bar(done, picks.size(),
                         fmt::format("times of {} on {}, {}", options.op, options.cluster,
                                     plan::to_string(each.algorithm)));
        },
        notes);
    if (rows.empty()) {
        return fail(fmt::format("--algorithms {} with --op {} and --stack {}: {}",
                                options.algorithms, options.op, options.stack,
                                notes.empty() ? "there is nothing to time" : notes.back()));
    }
    for (const plan::Algorithm algorithm : algorithms) {
        if (auto why = (*model)->find_no_choice(op, algorithm)) {
            notes.push_back(*std::move(why));
        }
    }
    std::ranges::copy(plan::notes_of(*cluster), std::back_inserter(notes));
    if (!exports.empty()) {
        const int status = export_operation(exports, **model, op, rows[0].algorithm, rows[0].bytes);
        if (status != 0) {
            return status;
        }
    }
    Remarks remarks = remarks_on(wanted, **model, op, rows);
    remarks.notes = std::move(notes);
    return print_rows(options, **model, rows, remarks);
}

}  // namespace softib::app
