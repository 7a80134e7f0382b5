// SPDX-License-Identifier: BSD-2-Clause
// `softib trace record`: runs a command, lets softib's libibverbs write what each program posts
// into a folder, and makes one trace of all files there.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/cli/json_text.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "plan/trace/recorded.h"
#include "runtime/shm/record_log.h"

namespace softib::app {

namespace {

using plan::trace::Recorded;
using plan::trace::RecordedProcess;

/// A temporary folder, removed by the destructor.
class RecordFolder {
  public:
    RecordFolder() {
        const char* const base = std::getenv("TMPDIR");
        std::string wish = fmt::format("{}/softib-record-XXXXXX", base != nullptr ? base : "/tmp");
        path_ = mkdtemp(wish.data()) != nullptr ? wish : "";
    }
    RecordFolder(const RecordFolder&) = delete;
    RecordFolder& operator=(const RecordFolder&) = delete;
    ~RecordFolder() {
        std::error_code gone;
        if (!path_.empty()) {
            std::filesystem::remove_all(path_, gone);
        }
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Runs the command and returns its exit status. Signals of the terminal are for the command; what
/// it did until then becomes a trace too.
int run_recorded(const std::vector<std::string>& command, const std::string& folder) {
    const pid_t child = fork();
    if (child == 0) {
        setenv(shm::kRecordVariable, folder.c_str(), 1);
        std::vector<char*> arguments;
        for (const std::string& each : command) {
            arguments.push_back(const_cast<char*>(each.c_str()));
        }
        arguments.push_back(nullptr);
        execvp(arguments[0], arguments.data());
        _exit(fail(fmt::format("cannot run {}: {}", command[0], std::strerror(errno))));
    }
    if (child < 0) {
        return fail(fmt::format("cannot fork: {}", std::strerror(errno)));
    }
    struct sigaction ignore{};
    struct sigaction before{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &before);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &before, nullptr);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Recorded kind_of(shm::RecordWhat what) {
    switch (what) {
        case shm::RecordWhat::kQueuePair:
            return Recorded::kQueuePair;
        case shm::RecordWhat::kRead:
            return Recorded::kRead;
        case shm::RecordWhat::kAtomic:
            return Recorded::kAtomic;
        case shm::RecordWhat::kWaits:
            return Recorded::kWaits;
        case shm::RecordWhat::kFound:
            return Recorded::kFound;
        case shm::RecordWhat::kSent:
            break;
    }
    return Recorded::kSent;
}

std::vector<RecordedProcess> read_records(const std::string& folder) {
    std::vector<RecordedProcess> processes;
    std::error_code unreadable;
    for (const auto& file : std::filesystem::directory_iterator(folder, unreadable)) {
        std::ifstream in(file.path(), std::ios::binary);
        shm::RecordHeader header{};
        if (!in.read(reinterpret_cast<char*>(&header), sizeof header) ||
            std::memcmp(header.magic, shm::kRecordMagic, sizeof header.magic) != 0) {
            continue;
        }
        header.program[sizeof header.program - 1] = '\0';
        RecordedProcess process{.name = header.program, .rank = header.rank, .pid = header.pid};
        in.seekg(shm::kRecordPieceBytes);
        shm::RecordEntry entry{};
        while (in.read(reinterpret_cast<char*>(&entry), sizeof entry) && entry.time_ns != 0) {
            process.events.push_back({entry.time_ns, entry.cpu_ns, entry.bytes, entry.qpn,
                                      entry.remote_qpn, kind_of(entry.what)});
        }
        processes.push_back(std::move(process));
    }
    return processes;
}

}  // namespace

int cmd_trace_record(const TraceRecordOptions& options) {
    if (options.command.empty()) {
        return misuse("say what to run: softib trace record -o FILE -- COMMAND");
    }
    if (const int wrong = trace::check_trace_file(options.to); wrong != 0) {
        return wrong;
    }
    const RecordFolder folder;
    if (folder.path().empty()) {
        return fail(fmt::format("cannot make a folder: {}", std::strerror(errno)));
    }
    const int status = run_recorded(options.command, folder.path());
    auto job = plan::trace::job_of(read_records(folder.path()));
    if (!job) {
        const int failed = fail(job.error());
        return status != 0 ? status : failed;
    }
    job->name = options.command[0];
    std::vector<std::string> files;
    const int written = trace::write_job(*job, options.to, &files);
    const plan::trace::Summary all = plan::trace::summarise(*job);
    const auto sends = static_cast<std::size_t>(plan::trace::Kind::kSend);
    if (!options.json) {
        note(fmt::format("{}: {}, {}, {}", options.to, counted(job->ranks(), "rank"),
                         counted(all.count[sends], "message"), human_bytes(all.bytes[sends])));
    } else if (written == 0) {
        report_line({{"written", files},
                     {"ranks", job->ranks()},
                     {"messages", all.count[sends]},
                     {"bytes", all.bytes[sends]},
                     {"command", options.command},
                     {"status", status}});
    }
    return status != 0 ? status : written;
}

}  // namespace softib::app
