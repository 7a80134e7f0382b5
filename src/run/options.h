// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The options of a run that are no keys of its scenario: what is written, where it runs, and how
// what-if and sweeps go about it. One table from which the command line has its flags.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "run/run.h"

namespace softib::run {

/// What the options of one run say.
struct Settings {
    Outputs outputs = {};
    Place place = {};
    SweepPlace sweep = {};
    std::string sweep_file = {};
    bool whatif = false;
    std::optional<std::uint32_t> draws = {};
};

struct Option {
    std::string_view name;     ///< "csv_links"
    std::string_view flag;     ///< "--csv-links"; empty: it is no flag.
    std::string_view operand;  ///< Placeholder of the value in help; empty: it has none.
    std::string_view help;
    std::string_view group;
    spec::Result (*set)(Settings&, const std::string&);
    spec::Serves serves;
    /// An option without which this one does nothing, or two with '|' between them.
    std::string_view needs = {};
    std::array<std::string_view, 2> without = {};  ///< Options that do not go with this one.
    bool repeats = false;
};
/// Returns all options, in the order in which help shows them.
std::span<const Option> options();
/// Returns the option of this name, or nullptr.
const Option* find_option(std::string_view name);

/// The forms in which an outcome is written; each option of this name writes one.
enum class Form : std::uint8_t { kJson, kCsv, kCsvLinks, kExport, kHtml, kRecord, kServe };
/// Returns the kinds of runs whose outcomes can be written in a form.
constexpr spec::Kinds kinds_written_as(Form form) {
    using spec::RunKind;
    switch (form) {
        case Form::kJson:
            return spec::Kinds::all();
        case Form::kCsv:
            return spec::Kinds::but({RunKind::kSharp});
        case Form::kHtml:
            return {RunKind::kSingle, RunKind::kCompare, RunKind::kWhatIf};
        case Form::kCsvLinks:
        case Form::kExport:
        case Form::kRecord:
        case Form::kServe:
            return {RunKind::kSingle};
    }
    return {};
}

}  // namespace softib::run
