// SPDX-License-Identifier: BSD-2-Clause
// `softib plan calibrate`.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "answer/calibration.h"
#include "app/cli/output_files.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/text_file.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

/// A folder for the measuring program and what it writes, which goes with the object.
class Scratch {
  public:
    Scratch() {
        std::string name = std::filesystem::temp_directory_path() / "softib-calibrate-XXXXXX";
        path_ = mkdtemp(name.data()) == nullptr ? "" : name;
    }
    ~Scratch() {
        std::error_code ignored;
        if (!path_.empty()) {
            std::filesystem::remove_all(path_, ignored);
        }
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Runs the measuring program, which says on standard error how far it is. Returns the exit status
/// of the command.
int measure(const PlanCalibrateOptions& options, const std::string& program,
            const std::string& output) {
    std::vector<std::string> words{options.python, program, "--output", output};
    if (!options.device.empty()) {
        words.insert(words.end(), {"--device", options.device});
    }
    if (options.quick) {
        words.emplace_back("--quick");
    }
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    pid_t pid = 0;
    if (const int error = posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ)) {
        return fail(fmt::format("cannot run {}: {}; name a Python with PyTorch by --python",
                                options.python, std::strerror(error)));
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return fail(std::strerror(errno));
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return 0;
    }
    return fail(WIFEXITED(status)
                    ? "nothing was measured; the reason stands above"
                    : fmt::format("the measuring program ended by signal {}", WTERMSIG(status)));
}

void print_table(const answer::CalibrationReport& report) {
    fmt::print("{}, {}: parts of the peaks of {}\n\n", report.device, report.software, report.gpu);
    Table table({"KERNELS", "COUNT", "OF PEAK", "MODEL IS OFF", "AT MOST"});
    for (const answer::CalibratedKind& each : report.kinds) {
        table.row({each.what, std::to_string(each.kernels), fmt::format("{:.3f}", each.reached),
                   fmt::format("{:.1f} %", 100 * each.mean_error),
                   fmt::format("{:.1f} %", 100 * each.most_error)});
    }
    fmt::print("{}", table.text());
    if (!report.exchanges.empty()) {
        Table exchanges({"EXCHANGE", "GPUS", "SIZE", "TIME", "OF NVLINK"});
        for (const answer::TimedExchange& each : report.exchanges) {
            exchanges.row({each.op, fmt::format("{:.0f}", each.ranks),
                           human_bytes(static_cast<std::uint64_t>(each.bytes)),
                           fmt::format("{:.1f} us", 1e6 * each.seconds),
                           fmt::format("{:.0f} %", 100 * each.part)});
        }
        fmt::print("\n{}", exchanges.text());
    }
}

/// Returns what is wrong with options that would do nothing.
std::string find_idle(const PlanCalibrateOptions& options) {
    const bool measures = options.question.measurements.empty() && !options.program;
    if (!measures && (options.quick || options.device_given || options.python_given)) {
        return "--quick, --device and --python are about measuring, and nothing is measured";
    }
    if (options.program && (!options.question.measurements.empty() || options.json ||
                            !options.question.cluster.empty())) {
        return "--program prints the program and nothing else: leave out the other options";
    }
    return options.json && !options.output.empty()
               ? "--json has the file of rates in it: leave out --output"
               : "";
}

}  // namespace

int cmd_plan_calibrate(const PlanCalibrateOptions& options) {
    if (const std::string idle = find_idle(options); !idle.empty()) {
        return misuse(idle);
    }
    if (const int status = check_outputs({{{.option = "--output", .path = options.output}}},
                                         {{options.question.measurements}})) {
        return status;
    }
    if (options.program) {
        return write_text(options.output.empty() ? "-" : options.output,
                          std::string(plan::measuring_program()));
    }
    const Scratch scratch;
    answer::CalibrateQuestion question = options.question;
    if (question.measurements.empty()) {
        const std::string program = scratch.path() + "/measure_kernels.py";
        if (scratch.path().empty()) {
            return fail(fmt::format("cannot make a folder in {}: {}",
                                    std::filesystem::temp_directory_path().string(),
                                    std::strerror(errno)));
        }
        if (const int status = write_text(program, std::string(plan::measuring_program()))) {
            return status;
        }
        question.measurements = scratch.path() + "/measurements.json";
        if (const int status = measure(options, program, question.measurements)) {
            return status;
        }
    }
    const auto report = answer::calibrate(question);
    if (!report) {
        return refuse(report.error());
    }
    if (options.json) {
        fmt::print("{}", answer::to_json(*report));
        return 0;
    }
    if (options.output.empty()) {
        fmt::print("{}", answer::to_toml(*report));
        return 0;
    }
    if (const int status = write_text(options.output, answer::to_toml(*report))) {
        return status;
    }
    if (options.output != "-") {
        print_table(*report);
        fmt::print("\nGive the rates to the planner: softib plan train --rates {} ...\n",
                   options.output);
    }
    return 0;
}

}  // namespace softib::app
