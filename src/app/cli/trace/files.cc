// SPDX-License-Identifier: BSD-2-Clause
// `softib trace show`, `convert` and `scale`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <numeric>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/plan/page.h"
#include "app/cli/text_file.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "plan/trace/expand.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"
#include "spec/trace/trace_file.h"

namespace softib::app {

namespace {

using TraceJson = nlohmann::ordered_json;
using plan::trace::Job;
using plan::trace::Kind;

std::string show_text(const Job& job, const plan::trace::Summary& all) {
    std::string text = fmt::format(
        "{}: {}, {}, longest computation of a rank {}\n\n", job.name, counted(job.ranks(), "rank"),
        counted(all.operations, "operation"), plan::show_time(all.compute_max));
    Table table({"OPERATION", "COUNT", "BYTES"});
    for (const Kind kind : {Kind::kCompute, Kind::kSend, Kind::kRecv}) {
        const auto i = static_cast<std::size_t>(kind);
        table.row({to_string(kind), std::to_string(all.count[i]),
                   kind == Kind::kCompute ? "-" : plan::show_size(all.bytes[i])});
    }
    for (const plan::trace::Collective each : plan::trace::kCollectives) {
        const auto i = static_cast<std::size_t>(each);
        if (all.collectives[i] != 0) {
            table.row({to_string(each), std::to_string(all.collectives[i]),
                       plan::show_size(all.collective_bytes[i])});
        }
    }
    text += table.text();
    if (!job.communicators.empty()) {
        Table groups({"COMMUNICATOR", "GROUPS", "RANKS OF THE FIRST"});
        for (const plan::trace::Communicator& comm : job.communicators) {
            std::vector<std::uint32_t> first =
                comm.groups.empty() ? std::vector<std::uint32_t>{} : comm.groups.front();
            constexpr std::size_t kShown = 8;
            const bool cut = first.size() > kShown;
            first.resize(std::min(first.size(), kShown));
            groups.row({comm.name, std::to_string(comm.groups.size()),
                        fmt::format("{}{}", fmt::join(first, " "), cut ? " ..." : "")});
        }
        text += "\n" + groups.text();
    }
    return text;
}

TraceJson show_json(const Job& job, const plan::trace::Summary& all) {
    TraceJson operations = TraceJson::object();
    for (const Kind kind : plan::trace::kKinds) {
        const auto i = static_cast<std::size_t>(kind);
        operations[to_string(kind)] = {{"count", all.count[i]}, {"bytes", all.bytes[i]}};
    }
    TraceJson collectives = TraceJson::object();
    for (const plan::trace::Collective each : plan::trace::kCollectives) {
        const auto i = static_cast<std::size_t>(each);
        collectives[to_string(each)] = {{"count", all.collectives[i]},
                                        {"bytes", all.collective_bytes[i]}};
    }
    TraceJson communicators = TraceJson::array();
    for (const plan::trace::Communicator& comm : job.communicators) {
        communicators.push_back({{"name", comm.name}, {"groups", comm.groups}});
    }
    return {{"name", job.name},
            {"ranks", job.ranks()},
            {"operations", operations},
            {"collectives", collectives},
            {"communicators", communicators},
            {"compute_us_max", static_cast<double>(all.compute_max) / 1e6}};
}

/// Returns the job as the file's format can hold it: GOAL has no collective operations, so they
/// become messages.
std::expected<Job, std::string> fit_for(const std::string& file, Job job,
                                        const std::string& cluster_name) {
    if (!file.ends_with(".goal") || !trace::has_collectives(job)) {
        if (!cluster_name.empty()) {
            return std::unexpected(
                "--cluster changes nothing here: only collective operations that become GOAL's "
                "messages need one; leave it out");
        }
        return job;
    }
    if (cluster_name.empty()) {
        return std::unexpected(
            "GOAL has no collective operations: say with --cluster NAME where they become "
            "messages");
    }
    const auto cluster = trace::find_nodes(cluster_name, 0);
    if (!cluster) {
        return std::unexpected(cluster.error());
    }
    std::vector<bool> taken;
    const auto gpus = plan::trace::place(*cluster, job.ranks(), {}, taken);
    if (!gpus) {
        return std::unexpected(gpus.error());
    }
    return plan::trace::expand(job, *cluster, *gpus);
}

/// Returns the files that a conversion reads.
std::vector<std::string> read_of(const TraceFileOptions& options) {
    std::vector<std::string> files = options.files;
    files.back() = options.groups;
    return files;
}

/// Writes a trace that was converted, and reports the result as JSON if that is wanted.
int write_converted(const std::expected<Job, std::string>& job, const TraceFileOptions& options) {
    if (!job) {
        return fail_describing(job.error());
    }
    std::vector<std::string> written;
    const int status = trace::write_job(*job, options.files.back(), &written);
    if (status == 0 && options.json) {
        TraceJson out = show_json(*job, plan::trace::summarise(*job));
        out["written"] = written;
        fmt::print("{}", json_text(out));
    }
    return status;
}

}  // namespace

namespace trace {

bool has_collectives(const Job& job) {
    return plan::trace::summarise(job).count[static_cast<std::size_t>(Kind::kCollective)] != 0;
}

std::expected<plan::Cluster, std::string> find_nodes(const std::string& name, std::uint32_t nodes) {
    auto cluster = spec::find_cluster(name, nodes);
    if (cluster) {
        if (const auto fault = plan::find_fault(*cluster)) {
            return std::unexpected(*fault);
        }
    }
    return cluster;
}

std::expected<Job, std::string> load(std::span<const std::string> files, const std::string& groups,
                                     const plan::Cluster* cluster, bool& named) {
    spec::TraceOptions options{.groups_named = &named};
    if (!groups.empty()) {
        auto text = spec::load_text(groups);
        if (!text) {
            return std::unexpected(text.error());
        }
        options.groups = *std::move(text);
    }
    if (cluster != nullptr) {
        options.flops_per_s = cluster->gpu.peak(plan::Precision::kBf16);
        options.memory_bytes_per_s = cluster->gpu.memory_bytes_per_s;
    }
    Progress progress("reading");
    progress.tick();
    return spec::load_trace(files, options);
}

std::string idle_groups(const std::string& groups) {
    return fmt::format(
        "--groups changes nothing here: no operation of a Chakra trace names a group of {}; leave "
        "it out",
        groups);
}

std::expected<Job, std::string> load_one(std::span<const std::string> files,
                                         const std::string& groups) {
    bool named = groups.empty();
    auto job = load(files, groups, nullptr, named);
    if (job && !named) {
        return std::unexpected(idle_groups(groups));
    }
    return job;
}

namespace {

constexpr std::string_view kChakra = ".et";

std::string chakra_file(const std::string& file, std::uint32_t rank) {
    return fmt::format("{}.{}{}", file.substr(0, file.size() - kChakra.size()), rank, kChakra);
}

/// Returns what is wrong with the name of a trace to write; empty: nothing.
std::string wrong_ending(const std::string& file) {
    return file.ends_with(".goal") || file.ends_with(kChakra)
               ? ""
               : fmt::format(
                     "'{}' must end with .goal (GOAL) or .et (Chakra, a file for each rank)", file);
}

}  // namespace

std::string first_file(const std::string& file) {
    return file.ends_with(kChakra) ? chakra_file(file, 0) : file;
}

int check_trace_file(const std::string& file, std::span<const std::string> read) {
    if (const std::string wrong = wrong_ending(file); !wrong.empty()) {
        return misuse(wrong);
    }
    const OutputFile written{"the last FILE", first_file(file)};
    return check_outputs({&written, 1}, read);
}

int write_job(const Job& job, const std::string& file, std::vector<std::string>* written) {
    const auto write = [&](const std::string& name, const std::string& text) {
        if (written != nullptr) {
            written->push_back(name);
        }
        return write_text(name, text);
    };
    if (file.ends_with(".goal")) {
        const auto text = spec::write_goal(job);
        return text ? write(file, *text) : fail(text.error());
    }
    if (const std::string wrong = wrong_ending(file); !wrong.empty()) {
        return misuse(wrong);
    }
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
        const int status = write(chakra_file(file, rank), spec::write_chakra(job, rank));
        if (status != 0) {
            return status;
        }
    }
    const std::string groups = spec::write_chakra_groups(job);
    const std::string prefix = file.substr(0, file.size() - kChakra.size());
    return groups.empty() ? 0 : write(prefix + ".groups.json", groups);
}

}  // namespace trace

int cmd_trace_show(const TraceFileOptions& options) {
    const auto job = trace::load_one(options.files, options.groups);
    if (!job) {
        return fail_describing(job.error());
    }
    const plan::trace::Summary all = plan::trace::summarise(*job);
    fmt::print("{}", options.json ? json_text(show_json(*job, all)) : show_text(*job, all));
    for (const std::string& each : job->notes) {
        note(each);
    }
    return 0;
}

int cmd_trace_convert(const TraceFileOptions& options) {
    if (options.files.size() < 2) {
        return misuse("say what to read and what to write: softib trace convert FILE... TO");
    }
    const std::span<const std::string> all(options.files);
    if (const int wrong = trace::check_trace_file(all.back(), read_of(options)); wrong != 0) {
        return wrong;
    }
    auto job = trace::load_one(all.first(all.size() - 1), options.groups);
    if (!job) {
        return fail_describing(job.error());
    }
    return write_converted(fit_for(all.back(), *std::move(job), options.cluster), options);
}

int cmd_trace_scale(const TraceFileOptions& options) {
    if (options.files.size() < 2) {
        return misuse(
            "say what to read and what to write: softib trace scale --ranks N FILE... TO");
    }
    const std::span<const std::string> all(options.files);
    if (const int wrong = trace::check_trace_file(all.back(), read_of(options)); wrong != 0) {
        return wrong;
    }
    const auto job = trace::load_one(all.first(all.size() - 1), options.groups);
    if (!job) {
        return fail_describing(job.error());
    }
    auto scaled = plan::trace::scale(*job, options.ranks);
    if (!scaled) {
        return misuse(scaled.error());
    }
    return write_converted(fit_for(all.back(), *std::move(scaled), options.cluster), options);
}

}  // namespace softib::app
