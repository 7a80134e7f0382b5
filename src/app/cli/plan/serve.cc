// SPDX-License-Identifier: BSD-2-Clause
// `softib plan serve`.
#include "answer/serve.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/cli/output_files.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/plan/serve_report.h"
#include "app/cli/text_file.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app {

namespace service {

std::string time_text(double seconds) {
    return seconds < 1e-12 ? "0" : plan::show_time(static_cast<plan::TimePs>(seconds * 1e12));
}

std::string spread_text(const plan::Spread& spread) {
    return spread.low == spread.high ? time_text(spread.middle)
                                     : fmt::format("{} ({} to {})", time_text(spread.middle),
                                                   time_text(spread.low), time_text(spread.high));
}

std::string part_text(double part) {
    return fmt::format("{:.1f} %", 100 * part);
}

std::vector<std::pair<std::string, double>> named_parts(const plan::FirstTokenParts& parts) {
    return {{"waiting for a prefill instance", parts.waited},
            {"prefill", parts.prefill},
            {"waiting for room in the decode pool", parts.room},
            {"transfer of the KV cache alone", parts.alone},
            {"queueing at NICs of decode nodes", parts.crowded_in},
            {"queueing at NICs of prefill nodes", parts.crowded_out},
            {"queueing between switches", parts.crowded_within},
            {"first step of decoding", parts.joining}};
}

std::string describe(const plan::ServeAnswer& answer) {
    const plan::ServeRequest& request = answer.request;
    return fmt::format(
        "{} prefill nodes (tp {}), {} decode nodes (tp {}), {:g} requests a second; KV cache {} a "
        "token, {} sent for a prompt",
        request.prefill_nodes, request.prefill.tp, request.decode_nodes, request.decode.tp,
        request.requests_per_s, plan::show_size(static_cast<std::uint64_t>(answer.kv_bytes)),
        plan::show_size(static_cast<std::uint64_t>(answer.prompt_kv_bytes)));
}

namespace {

std::string parts_table(const plan::ServeRow& row) {
    Table table({"FIRST TOKEN", "MEAN", "SHARE", "SLOWEST 1 %", "SHARE"});
    const auto means = named_parts(row.parts);
    const auto tails = named_parts(row.tail);
    for (std::size_t i = 0; i < means.size(); ++i) {
        constexpr double kSeen = 1e-9;
        if (means[i].second > kSeen || tails[i].second > kSeen) {
            table.row({means[i].first, time_text(means[i].second),
                       part_text(means[i].second / row.parts.sum()), time_text(tails[i].second),
                       part_text(tails[i].second / row.tail.sum())});
        }
    }
    return fmt::format("\n{}:\n{}", plan::counted(row.rails, "rail"), table.text());
}

}  // namespace

std::string to_text(const plan::ServeAnswer& answer) {
    std::string text = fmt::format(
        "{} on {}\n{}\nprefill instances busy {}, decode batches of "
        "{:.1f}\n\n",
        painted(answer.request.model.name, Colour::kBold), answer.request.cluster.name,
        describe(answer), part_text(answer.prefill_busy), answer.decode_batch);
    Table table({"RAILS", "FIRST TOKEN 50 %", "95 %", "99 %", "FABRIC", "OF SLOWEST", "KV 50 %",
                 "KV 99 %", "TOKEN 50 %", "TOKEN 99 %", "AT ONCE", "NIC LOAD"});
    for (const plan::ServeRow& row : answer.rows) {
        if (!row.why.empty()) {
            table.row({std::to_string(row.rails), row.why});
            continue;
        }
        table.row({std::to_string(row.rails), spread_text(row.first_token[0]),
                   time_text(row.first_token[1].middle), spread_text(row.first_token[2]),
                   part_text(row.fabric_share.middle), part_text(row.fabric_share_tail.middle),
                   time_text(row.transfer[0].middle), time_text(row.transfer[2].middle),
                   time_text(row.token[0].middle), time_text(row.token[2].middle),
                   std::to_string(row.senders_most), part_text(row.nic_load)});
    }
    text += table.text();
    for (const plan::ServeRow& row : answer.rows) {
        text += row.why.empty() ? parts_table(row) : "";
    }
    text += "\n";
    for (const std::string& note : answer.notes) {
        text += "- " + note + "\n";
    }
    return text;
}

}  // namespace service

int cmd_plan_serve(const PlanServeOptions& options) {
    const answer::ServeQuestion& question = options.question;
    if (const auto idle = find_idle_json(question.given, options.html)) {
        return misuse(*idle);
    }
    const OutputFile html{"--html", options.html};
    const std::vector<std::string> read{question.model, question.cluster};
    if (const int wrong = check_outputs({&html, 1}, read); wrong != 0) {
        return wrong;
    }
    Progress progress("serving");
    const auto answer =
        answer::serve(question, [&](std::size_t done, std::size_t all, const std::string& name) {
            progress.bar(done, all, fmt::format("rails, {}", name));
        });
    if (!answer) {
        return refuse(answer.error());
    }
    if (!options.html.empty()) {
        const int status = write_text(options.html, service::to_html(*answer));
        if (status != 0 || options.html == "-") {
            return status;
        }
    }
    fmt::print("{}", options.json ? answer::to_json(*answer) : service::to_text(*answer));
    return 0;
}

}  // namespace softib::app
