// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "app/cli/sim/write.h"
#include "app/fabric/term.h"

namespace softib::app::sim {

std::string to_text(const run::SharpReport& report) {
    const net::SharpOutcome& out = report.outcome;
    Table table({"SHARP all-reduce", ""});
    table.row({"members", std::to_string(out.members)});
    table.row({"bytes", std::to_string(report.bytes)});
    table.row({"tree", fmt::format("{} of {}", counted(out.switches, "switch"),
                                   counted(out.depth, "level"))});
    table.row({"packets", out.streamed ? "streaming (SAT)" : "datagrams (LLT)"});
    table.row({"time", fmt::format("{:.3f} us", report.us())});
    table.row({"rate", fmt::format("{:.1f} Gb/s of {:.1f}", report.gbps(), report.link_gbps())});
    table.row({"a host sends", fmt::format("{} bytes", out.host_sent_bytes)});
    table.row({"a host receives", fmt::format("{} bytes", out.host_received_bytes)});
    table.row({"a ring's host sends", fmt::format("{:.0f} bytes", report.ring_bytes())});
    table.row({"a ring's time, at least", fmt::format("{:.3f} us", report.ring_us())});
    table.row({"wrong elements", std::to_string(out.wrong_elements)});
    return fmt::format("{}\n{}{}", report.report.title, table.text(),
                       basis_text(report.report.basis));
}

}  // namespace softib::app::sim
