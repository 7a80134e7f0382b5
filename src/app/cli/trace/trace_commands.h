// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The actions of `softib trace`. cli_trace.cc turns the command line into these structures; a
// command returns the exit status of the program.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli/output_files.h"
#include "plan/trace/player.h"

namespace softib::app {

struct TraceRunOptions {
    std::vector<std::string> files = {};  ///< The files of one job.
    std::vector<std::string> jobs = {};   ///< Further jobs, each as FILE@PLACEMENT.
    std::string groups = {};
    std::string cluster = {};
    std::uint32_t nodes = 0;  ///< The first nodes of the cluster; 0: all.
    std::string model = "flow";
    std::string placement = "linear";
    std::uint32_t per_node = 0;
    std::optional<std::uint64_t> seed = {};  ///< Seed of random placements; not given: 1.
    std::string eager = "64KiB";
    std::string nic = "turns";  ///< "turns" or "order".
    bool rendezvous = false;
    bool steps = false;  ///< Collective operations are played message by message.
    std::string message_time = "100ns";
    std::vector<std::string> exports = {};  ///< FORMAT=FILE
    std::string timeline = {};
    bool any_cost = false;  ///< Go on although it takes hours.
    bool ranks = false;
    bool json = false;
};
int cmd_trace_run(const TraceRunOptions& options);

struct TraceFileOptions {
    std::vector<std::string> files = {};
    std::string groups = {};
    std::string cluster = {};  ///< The cluster whose algorithms turn collectives into messages.
    std::uint32_t ranks = 0;
    bool json = false;
};
int cmd_trace_show(const TraceFileOptions& options);
int cmd_trace_convert(const TraceFileOptions& options);
int cmd_trace_scale(const TraceFileOptions& options);

struct TraceRecordOptions {
    std::string to = {};
    bool json = false;
    std::vector<std::string> command = {};
};
int cmd_trace_record(const TraceRecordOptions& options);

struct TraceOptions {
    TraceRunOptions run = {};
    TraceFileOptions show = {};
    TraceFileOptions convert = {};
    TraceFileOptions scale = {};
    TraceRecordOptions record = {};
};

namespace trace {

/// What a run showed.
struct Report {
    std::string cluster = {};
    std::string model = {};
    const plan::trace::Player* player = nullptr;
    plan::TimePs makespan = 0;
    std::uint64_t nvlink_bytes = 0;
    std::uint64_t host_link_bytes = 0;    ///< Bytes, with headers, between HCAs and switches.
    std::uint64_t switch_link_bytes = 0;  ///< Bytes, with headers, between switches.
    std::vector<std::string> notes = {};  ///< What the answer stands on.
};
std::string to_text(const Report& report, bool ranks);
std::string to_json(const Report& report);
std::string to_timeline(const plan::trace::Player& player);
std::string flows_csv(const plan::trace::Player& player);

/// Returns whether some rank takes part in a collective operation.
bool has_collectives(const plan::trace::Job& job);

/// A file that --export names.
struct Export {
    std::string format = {};  ///< "goal", "chakra" or "csv".
    std::string file = {};
};
/// Reads the values of --export. The error says what one must look like.
std::expected<std::vector<Export>, std::string> read_exports(std::span<const std::string> texts);
bool wants_csv(std::span<const Export> exports);
/// Returns the files that exports write; of Chakra, which has one for each rank, the first.
std::vector<OutputFile> files_of(std::span<const Export> exports);
/// Returns the file that write_job() writes first for this name.
std::string first_file(const std::string& file);
/// Writes a job that has no collective operations, or `csv` where the format is CSV. Returns the
/// exit status.
int write_exports(std::span<const Export> exports, const plan::trace::Job& messages,
                  const std::string& csv);
/// Writes the messages of a job on these GPUs. CSV has the times that the messages take on an idle
/// fabric. Collective operations use `algorithm`, or the one that NCCL would choose if there is
/// none. Returns the exit status.
int export_job(std::span<const Export> exports, const plan::Cluster& cluster,
               const plan::trace::Job& job, std::vector<std::uint32_t> gpus,
               std::optional<plan::Algorithm> algorithm = {});

/// Returns the first `nodes` nodes of a cluster (a preset's name or a file), or all if that is 0.
std::expected<plan::Cluster, std::string> find_nodes(const std::string& name, std::uint32_t nodes);
/// Reads a job. `groups`: the file of Chakra's groups; sets `named` if an operation is of one.
std::expected<plan::trace::Job, std::string> load(std::span<const std::string> files,
                                                  const std::string& groups,
                                                  const plan::Cluster* cluster, bool& named);
/// Reads the one job of a command, in which the groups must act.
std::expected<plan::trace::Job, std::string> load_one(std::span<const std::string> files,
                                                      const std::string& groups);
/// Returns why the option --groups changes nothing.
std::string idle_groups(const std::string& groups);
/// Checks the name of a trace before it is made: its ending, and that it can be written. Returns
/// the exit status, 0 if nothing is wrong.
[[nodiscard]] int check_trace_file(const std::string& file, std::span<const std::string> read = {});
/// Writes a job in the format that the file's name asks for: one .goal file, or an .et file
/// (Chakra) for each rank, with the rank's number before the ending. Returns the exit status;
/// `written` gets the names of the files.
int write_job(const plan::trace::Job& job, const std::string& file,
              std::vector<std::string>* written = nullptr);

}  // namespace trace

}  // namespace softib::app
