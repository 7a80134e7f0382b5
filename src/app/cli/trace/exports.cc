// SPDX-License-Identifier: BSD-2-Clause
// The option --export of `softib trace run`, `sim`, `plan collective` and `plan train`: writes the
// messages, with their senders and receivers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/text_file.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "plan/collective/cluster_network.h"
#include "plan/trace/expand.h"

namespace softib::app::trace {

std::expected<std::vector<Export>, std::string> read_exports(std::span<const std::string> texts) {
    std::vector<Export> exports;
    for (const std::string& each : texts) {
        const std::size_t at = each.find('=');
        Export made{each.substr(0, at), at == std::string::npos ? "" : each.substr(at + 1)};
        const bool known = made.format == "goal" || made.format == "chakra" || made.format == "csv";
        if (!known || made.file.empty()) {
            return std::unexpected(
                fmt::format("--export '{}' must be goal=FILE, chakra=FILE or csv=FILE", each));
        }
        exports.push_back(std::move(made));
    }
    return exports;
}

bool wants_csv(std::span<const Export> exports) {
    return std::ranges::find(exports, "csv", &Export::format) != exports.end();
}

namespace {

/// Returns the name of an export with the ending of its format.
std::string name_of(const Export& each) {
    const std::string suffix = each.format == "goal"     ? ".goal"
                               : each.format == "chakra" ? ".et"
                                                         : "";
    return each.file.ends_with(suffix) ? each.file : each.file + suffix;
}

}  // namespace

std::vector<OutputFile> files_of(std::span<const Export> exports) {
    std::vector<OutputFile> files;
    for (const Export& each : exports) {
        files.push_back({"--export", first_file(name_of(each))});
    }
    return files;
}

int write_exports(std::span<const Export> exports, const plan::trace::Job& messages,
                  const std::string& csv) {
    int status = 0;
    for (const Export& each : exports) {
        if (each.format == "csv") {
            status |= write_text(each.file, csv);
            continue;
        }
        status |= write_job(messages, name_of(each));
    }
    return status;
}

int export_job(std::span<const Export> exports, const plan::Cluster& cluster,
               const plan::trace::Job& job, std::vector<std::uint32_t> gpus,
               std::optional<plan::Algorithm> algorithm) {
    const auto messages = plan::trace::expand(job, cluster, gpus, algorithm);
    if (!messages) {
        return fail(messages.error());
    }
    if (!wants_csv(exports)) {
        return write_exports(exports, *messages, "");
    }
    const auto network = plan::make_network(cluster, net::ModelKind::kFlow, {});
    if (!network) {
        return fail(network.error());
    }
    plan::trace::Player player(cluster, **network, {{*messages, std::move(gpus)}},
                               {.keep_flows = true});
    constexpr std::uint32_t kEvents = 1U << 16;
    while (!player.run_some(kEvents)) {
    }
    if (const auto played = player.outcome(); !played) {
        return fail(played.error());
    }
    return write_exports(exports, *messages, flows_csv(player));
}

}  // namespace softib::app::trace
