// SPDX-License-Identifier: BSD-2-Clause
#include "run/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/units.h"

namespace softib::run {

namespace {

using spec::Kinds;
using spec::Result;
using spec::RunKind;
using spec::Serves;

Result fail_if_empty(const std::string& text) {
    return text.empty() ? Result(std::unexpected("must not be empty")) : Result();
}

template <auto kField>
Result set_text(Settings& settings, const std::string& text) {
    kField(settings) = text;
    return fail_if_empty(text);
}

template <auto kField>
Result set_switch(Settings& settings, const std::string&) {
    kField(settings) = true;
    return {};
}

template <auto kField, std::uint64_t kLeast, std::uint64_t kMost>
Result set_number(Settings& settings, const std::string& text) {
    const auto number = plan::parse_count(text);
    if (!number || *number < kLeast || *number > kMost) {
        return std::unexpected(
            fmt::format("must be a whole number from {} to {}, not \"{}\"", kLeast, kMost, text));
    }
    kField(settings) = static_cast<std::uint32_t>(*number);
    return {};
}

Result set_step(Settings& settings, const std::string& text) {
    constexpr plan::TimePs kShortest = 1000;
    const auto step = plan::parse_time(text);
    if (!step || *step < kShortest) {
        return std::unexpected(step ? "must be 1ns or longer" : step.error());
    }
    settings.outputs.record_every = *step;
    return {};
}

Result set_port(Settings& settings, const std::string& text) {
    constexpr std::uint64_t kMost = 65535;
    const auto number = plan::parse_count(text);
    if (!number || *number > kMost) {
        return std::unexpected(
            fmt::format("must be a TCP port from 0 to {}, not \"{}\"", kMost, text));
    }
    settings.outputs.port = text;
    return {};
}

Result set_export(Settings& settings, const std::string& text) {
    const std::size_t at = text.find('=');
    const std::string format = text.substr(0, at);
    if ((format != "goal" && format != "chakra" && format != "csv") || at == std::string::npos ||
        at + 1 == text.size()) {
        return std::unexpected(
            fmt::format("'{}' must be goal=FILE, chakra=FILE or csv=FILE", text));
    }
    settings.outputs.exports.push_back(text);
    return {};
}

Result set_nothing(Settings&, const std::string&) {
    return {};
}

using S = Settings;
constexpr char kOutput[] = "Output";
constexpr char kSweeps[] = "Sweeps";
constexpr Serves kInParts{.kinds = {RunKind::kSingle, RunKind::kCompare, RunKind::kWhatIf},
                          .models = spec::kPackets,
                          .layers = {hca::LinkLayer::kInfiniBand},
                          .instead = "it runs on one thread"};
constexpr Serves kOfSweeps{.kinds = {RunKind::kSweep}, .instead = "it is for --sweep FILE"};
constexpr Serves kOfWhatIf{.kinds = {RunKind::kWhatIf}, .instead = "leave one of both out"};

constexpr Serves written(Form form, std::string_view instead = {}) {
    return {.kinds = kinds_written_as(form), .instead = instead};
}

constexpr Option kOptions[]{
    {"json", "--json", "", "print JSON", kOutput,
     set_switch<[](S& s) -> auto& { return s.outputs.json; }>, written(Form::kJson)},
    {"csv", "--csv", "FILE",
     "write all messages; of several networks, damaged fabrics or points a line each ('-': "
     "standard output)",
     kOutput, set_text<[](S& s) -> auto& { return s.outputs.csv; }>,
     written(Form::kCsv, "take --json")},
    {"csv_links", "--csv-links", "FILE", "write all links", kOutput,
     set_text<[](S& s) -> auto& { return s.outputs.csv_links; }>,
     written(Form::kCsvLinks, "take --json")},
    {"export",
     "--export",
     "FORMAT=FILE",
     "write what end ports sent each other: goal=FILE, chakra=FILE, csv=FILE; repeatable",
     kOutput,
     set_export,
     written(Form::kExport, "run one network alone"),
     "",
     {},
     true},
    {"html", "--html", "FILE", "write a report with plots", kOutput,
     set_text<[](S& s) -> auto& { return s.outputs.html; }>, written(Form::kHtml, "take --json")},
    {"record",
     "--record",
     "FILE",
     "write what every port counts, for softib serve --recording",
     kOutput,
     set_text<[](S& s) -> auto& { return s.outputs.record; }>,
     written(Form::kRecord, "record one simulation alone"),
     "",
     {"threads", "mpirun"}},
    {"record_every", "--record-every", "TIME",
     "virtual time between two readings of it, or of --serve (default: 100us)", kOutput, set_step,
     written(Form::kRecord, "record one simulation alone"), "record|serve"},
    {"serve",
     "--serve",
     "",
     "show it as a web page while it runs and afterwards, until Ctrl-C",
     kOutput,
     set_switch<[](S& s) -> auto& { return s.outputs.serve; }>,
     written(Form::kServe, "serve one simulation alone"),
     "",
     {"threads", "mpirun"}},
    {"port", "--port", "PORT", "the page's port (default: 8080; 0: any that is free)", kOutput,
     set_port, written(Form::kServe, "serve one simulation alone"), "serve"},
    {"threads",
     "--threads",
     "N",
     "threads of one simulation, which change nothing but its time (default: 1)",
     "Place",
     set_number<[](S& s) -> auto& { return s.place.threads; }, 1, 256>,
     kInParts,
     "",
     {"mpirun"}},
    {"yes",
     "--yes",
     "",
     "go on although it takes more memory than there is, or hours",
     "Place",
     set_switch<[](S& s) -> auto& { return s.place.any_cost; }>,
     {.kinds = {RunKind::kSingle, RunKind::kCompare, RunKind::kWhatIf},
      .instead = "nothing is asked there"}},
    {"mpirun",
     "",
     "",
     "",
     "",
     set_nothing,
     {.kinds = {RunKind::kSingle},
      .models = spec::kPackets,
      .layers = {hca::LinkLayer::kInfiniBand},
      .instead = "its processes share one simulation of packets on InfiniBand; start softib by "
                 "itself"}},
    {"whatif", "", "", "", "", set_switch<[](S& s) -> auto& { return s.whatif; }>, kOfWhatIf},
    {"whatif.seeds",
     "--seeds",
     "N",
     "whatif: draws of --fail-random (default: 1)",
     "Place",
     set_number<[](S& s) -> auto& { return s.draws; }, 1, 1000>,
     {.kinds = {RunKind::kWhatIf},
      .acts =
          [](const spec::Scenario& scenario, const spec::TrafficWish*) {
              return std::ranges::find(scenario.failures, spec::FailureWish::Kind::kRandom,
                                       &spec::FailureWish::kind) != scenario.failures.end();
          },
      .acts_with = "fail_random"}},
    {"sweep", "--sweep", "FILE", "simulate every combination of lists of values (TOML)", kSweeps,
     set_text<[](S& s) -> auto& { return s.sweep_file; }>, kOfSweeps},
    {"seeds", "", "", "", "", set_nothing, kOfSweeps},
    {"vary", "", "", "", "", set_nothing, kOfSweeps},
    {"jobs",
     "--jobs",
     "N",
     "simulations at a time (default: one for each core)",
     kSweeps,
     set_number<[](S& s) -> auto& { return s.sweep.jobs; }, 1, 4096>,
     kOfSweeps,
     "",
     {"merge"}},
    {"db", "--db", "FILE", "where results are kept (default: the sweep's name.db)", kSweeps,
     set_text<[](S& s) -> auto& { return s.sweep.database; }>, kOfSweeps},
    {"part",
     "--part",
     "I/N",
     "only every N-th point, from the I-th on",
     kSweeps,
     set_text<[](S& s) -> auto& { return s.sweep.part; }>,
     kOfSweeps,
     "",
     {"merge"}},
    {"merge", "--merge", "", "only put the results of parts together", kSweeps,
     set_switch<[](S& s) -> auto& { return s.sweep.merge; }>, kOfSweeps},
};

}  // namespace

std::span<const Option> options() {
    return kOptions;
}

const Option* find_option(std::string_view name) {
    const auto* const found = std::ranges::find(kOptions, name, &Option::name);
    return found == std::end(kOptions) ? nullptr : found;
}

}  // namespace softib::run
