// SPDX-License-Identifier: BSD-2-Clause
// softib log: prints the daemon's log, which is in two files. The newer one grows.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/fabric_dir.h"
#include "app/fabric/fabric_state.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

/// A log file that the daemon may rename and begin anew while it is read.
class LogFile {
  public:
    explicit LogFile(std::string path) : path_(std::move(path)) { reopen(); }
    ~LogFile() {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    bool is_open() const { return fd_ >= 0; }

    /// Returns what was written since the last call, also to a file that has taken the place of the
    /// one that was open.
    std::string read_more() {
        std::string text = read_rest();
        if (is_replaced()) {
            text += read_rest();  // The old file may have grown before it was replaced.
            reopen();
            text += read_rest();
        }
        return text;
    }

  private:
    void reopen() {
        if (fd_ >= 0) {
            close(fd_);
        }
        fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    }
    bool is_replaced() const {
        struct stat ours{};
        struct stat there{};
        return stat(path_.c_str(), &there) == 0 &&
               (fd_ < 0 || fstat(fd_, &ours) != 0 || ours.st_ino != there.st_ino);
    }
    std::string read_rest() const {
        std::string text;
        std::array<char, 65536> buffer{};
        for (ssize_t n = 0; fd_ >= 0 && (n = read(fd_, buffer.data(), buffer.size())) > 0;) {
            text.append(buffer.data(), static_cast<std::size_t>(n));
        }
        return text;
    }

    std::string path_;
    int fd_ = -1;
};

/// Returns the last lines of a text; all of it if there are fewer.
std::string last_lines_of(const std::string& text, std::uint32_t lines) {
    std::size_t begin = text.size();
    for (std::uint32_t i = 0; i < lines && begin != 0; ++i) {
        const std::size_t end = begin < 2 ? std::string::npos : text.rfind('\n', begin - 2);
        begin = end == std::string::npos ? 0 : end + 1;
    }
    return text.substr(begin);
}

/// Returns time, level and text of a line; only the text if the line is not the daemon's (the
/// message of a failed check).
nlohmann::ordered_json line_json(const std::string& line) {
    constexpr std::size_t kTimeBytes = std::string_view("2026-01-31 12:00:00.000").size();
    const std::size_t level_end = line.find(' ', std::min(kTimeBytes + 1, line.size()));
    if (level_end == std::string::npos || line[kTimeBytes] != ' ' || line[4] != '-') {
        return {{"text", line}};
    }
    return {{"time", line.substr(0, kTimeBytes)},
            {"level", line.substr(kTimeBytes + 1, level_end - kTimeBytes - 1)},
            {"text", line.substr(level_end + 1)}};
}

/// Prints text at once: unchanged, or each complete line as a JSON object.
class Printer {
  public:
    explicit Printer(bool json) : json_(json) {}

    void print(const std::string& text) {
        rest_ += text;
        const std::string out = json_ ? take_objects() : std::exchange(rest_, {});
        std::fwrite(out.data(), 1, out.size(), stdout);
        std::fflush(stdout);
    }

  private:
    std::string take_objects() {
        std::string out;
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos;
             begin = end + 1) {
            out += json_line(line_json(rest_.substr(begin, end - begin)));
        }
        rest_.erase(0, begin);
        return out;
    }

    bool json_;
    std::string rest_;
};

/// Prints what the daemon writes until the fabric ends. The end is seen by the directory, which is
/// removed: the log file itself is missing for a moment when the daemon begins it anew.
int follow(const FabricRef& fabric, LogFile& file, Printer& printer) {
    const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    constexpr std::uint32_t kChanges =
        IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF;
    const auto goes_on = [&] {
        return access(fabric.dir.c_str(), F_OK) == 0 && std::ferror(stdout) == 0;
    };
    if (watch < 0 || inotify_add_watch(watch, fabric.dir.c_str(), kChanges) < 0) {
        return fail(fmt::format("cannot watch {}: {}", fabric.dir, std::strerror(errno)));
    }
    do {
        printer.print(file.read_more());
        std::array<char, 4096> changes{};
        while (read(watch, changes.data(), changes.size()) > 0) {
        }
        // What was written since the last look is read before the next sleep.
        printer.print(file.read_more());
        pollfd waiting{watch, POLLIN, 0};
        if (goes_on()) {
            // inotify does not report that a directory is removed while a process has it open.
            constexpr int kLookAgainMs = 500;
            poll(&waiting, 1, kLookAgainMs);
        }
    } while (goes_on());
    close(watch);
    return 0;
}

}  // namespace

int cmd_log(const LogOptions& options) {
    const auto fabric = find_fabric(options.fabric);
    if (!fabric) {
        return fail(fabric.error());
    }
    LogFile file(fabric->dir + "/" + kLogName);
    if (!file.is_open()) {
        const FabricTrouble known = look_at_daemon(*fabric);
        return fail(known.state == FabricState::kUp
                        ? fmt::format("softibd of fabric '{}' logs on its terminal", fabric->name)
                        : known.sentence());
    }
    LogFile older(fabric->dir + "/" + kOldLogName);
    std::string text = older.read_more();
    text += file.read_more();
    Printer printer(options.json);
    printer.print(options.lines ? last_lines_of(text, *options.lines) : text);
    return options.follow ? follow(*fabric, file, printer) : 0;
}

}  // namespace softib::app
