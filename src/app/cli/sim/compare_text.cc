// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "app/cli/sim/write.h"
#include "app/fabric/term.h"

namespace softib::app::sim {

std::string to_text(const run::Comparison& comparison) {
    std::string text = painted(comparison.title, Colour::kBold) + "\n";
    for (const run::Compared& each : comparison.variants) {
        text +=
            fmt::format("{}: routes by {}, {}{}\n", each.name, each.report.engine,
                        each.report.network, each.report.stopped ? "; stopped before the end" : "");
    }
    const std::vector<std::vector<std::string>> rows = run::comparison_rows(comparison);
    Table table(rows.front());
    for (std::size_t i = 1; i < rows.size(); ++i) {
        table.row(rows[i]);
    }
    text += "\n" + table.text();
    for (const run::Compared& each : comparison.variants) {
        for (const plan::CongestionTree& tree : each.report.results.trees) {
            text += fmt::format("{}: {}\n", each.name, tree.text);
        }
        for (const std::string& note : each.report.notes) {
            text += fmt::format("{} {}: {}\n", painted("note:", Colour::kYellow), each.name, note);
        }
    }
    return text + basis_text(basis_of(comparison));
}

}  // namespace softib::app::sim
