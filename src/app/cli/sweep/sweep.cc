// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/sweep.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "app/cli/sim/interrupt.h"
#include "app/cli/sim/write.h"
#include "app/cli/sweep/database.h"
#include "app/cli/sweep/points.h"
#include "app/cli/sweep/pool.h"
#include "app/cli/sweep/share.h"
#include "app/fabric/term.h"
#include "core/base/mix.h"
#include "run/execute.h"

namespace softib::app::sweep {

namespace {

constexpr int kRedrawMs = 200;

/// Returns a hash of 128 bits of a text, as 32 digits.
std::string hash_of(std::string_view text) {
    std::uint64_t words[2] = {0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93};
    for (const char c : text) {
        for (std::uint64_t& word : words) {
            word = (word ^ static_cast<unsigned char>(c)) * 0x100000001B3;
            word = mix(word);
        }
    }
    return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

std::uint32_t cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0
               ? static_cast<std::uint32_t>(std::max(CPU_COUNT(&set), 1))
               : 1;
}

/// The progress bar of a sweep, at the bottom of a terminal.
class SweepBar {
  public:
    SweepBar() : terminal_(isatty(STDERR_FILENO) == 1) {}
    ~SweepBar() {
        if (drawn_) {
            fmt::print(stderr, "\r\x1b[K");
        }
    }
    SweepBar(const SweepBar&) = delete;
    SweepBar& operator=(const SweepBar&) = delete;

    /// Draws the bar. `before`: how many of the `done` points an earlier run has simulated.
    void draw(std::uint64_t done, std::uint64_t before, std::uint64_t all, std::size_t running) {
        if (!terminal_) {
            return;
        }
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun_;
        const std::string left =
            done == before
                ? std::string("...")
                : fmt::format("{:.0f} s left", spent.count() * static_cast<double>(all - done) /
                                                   static_cast<double>(done - before));
        fmt::print(stderr, "\r\x1b[K{} {}/{} points, {} running, {}", bar_text(done, all), done,
                   all, running, left);
        std::fflush(stderr);
        drawn_ = true;
    }

  private:
    bool terminal_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

class Sweeper {
  public:
    explicit Sweeper(const run::Run& run) : run_(run), sweep_(std::get<run::Sweep>(run.kind).axes) {
        for (const spec::SweepAxis& axis : sweep_.axes) {
            keys_.push_back(axis.key);
        }
        whole_ = !run.sweep.database.empty()
                     ? run.sweep.database
                     : std::filesystem::path(sweep_.file).stem().string() + ".db";
    }

    int simulate_all();
    int merge();

  private:
    struct Point {
        std::uint64_t number = 0;
        spec::SweepPoint values = {};
        std::string key = {};
        std::optional<Outcome> outcome = {};
    };

    Point make_point(std::uint64_t number) const {
        Point point{.number = number, .values = sweep_.point(number)};
        // Sorted, so that a point keeps its key if the order of the sweep's axes changes.
        const std::set<std::pair<std::string, std::string>> sorted(point.values.begin(),
                                                                   point.values.end());
        std::string text = SOFTIB_VERSION + std::get<run::Sweep>(run_.kind).common;
        for (const auto& [name, value] : sorted) {
            text += fmt::format("{}={}{}", name, value, '\0');
        }
        point.key = hash_of(text);
        return point;
    }
    /// Returns the database of one part: "sweep.part-2-of-8.db".
    std::string part_file(const Share& share) const {
        if (share.count == 1) {
            return whole_;
        }
        std::filesystem::path path(whole_);
        const std::string extension = path.extension();
        path.replace_extension();
        return fmt::format("{}.part-{}-of-{}{}", path.string(), share.index + 1, share.count,
                           extension);
    }
    std::expected<void, std::string> recall(const std::string& file, std::vector<Point>& points);
    std::expected<bool, std::string> run_points(std::vector<Point>& points, std::uint32_t jobs,
                                                Database& database);
    int finish(const std::vector<Point>& points, const std::string& file, bool stopped) const;

    const run::Run& run_;
    const spec::Sweep& sweep_;
    std::vector<std::string> keys_ = {};
    std::string whole_;
};

/// Loads results from a database, for points that have none yet or only a failure.
std::expected<void, std::string> Sweeper::recall(const std::string& file,
                                                 std::vector<Point>& points) {
    auto database = Database::open(file, keys_);
    if (!database) {
        return std::unexpected(database.error());
    }
    for (Point& point : points) {
        if (point.outcome && !point.outcome->failed) {
            continue;
        }
        auto found = database->load(point.key);
        if (!found) {
            return std::unexpected(found.error());
        }
        if (*found) {
            point.outcome = *std::move(found);
        }
    }
    return {};
}

/// Simulates the points that have no result. Returns false if the user stopped it.
std::expected<bool, std::string> Sweeper::run_points(std::vector<Point>& points, std::uint32_t jobs,
                                                     Database& database) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!points[i].outcome || points[i].outcome->failed) {
            open.push_back(i);
        }
    }
    const std::uint64_t before = points.size() - open.size();
    std::uint64_t done = before;
    const sim::InterruptWatch watch;
    SweepBar bar;
    Pool pool(jobs, [&](std::uint64_t i) {
        run::Watch quiet;
        return to_message(run::simulate_point(run_, points[i].values, quiet));
    });
    for (auto next = open.begin(); next != open.end() || pool.running() != 0;) {
        if (watch.interrupted()) {
            return false;
        }
        while (next != open.end() && !pool.full()) {
            if (!pool.start(*next)) {
                if (pool.running() == 0) {
                    return std::unexpected(
                        fmt::format("cannot start a process: {}", std::strerror(errno)));
                }
                break;
            }
            ++next;
        }
        bar.draw(done, before, points.size(), pool.running());
        for (const Pool::Finished& finished : pool.wait(kRedrawMs)) {
            Point& point = points[finished.piece];
            std::optional<Outcome> said;
            if (!finished.failed) {
                said = from_message(finished.said);
            }
            point.outcome =
                said ? *std::move(said) : Outcome{.failed = true, .error = finished.said};
            if (auto stored = database.store(point.key, point.number, point.values, *point.outcome);
                !stored) {
                return std::unexpected(stored.error());
            }
            ++done;
        }
    }
    return true;
}

int Sweeper::simulate_all() {
    const auto share =
        find_share(run_.sweep.part, [](const char* name) { return std::getenv(name); });
    if (!share) {
        return run_.sweep.part.empty() ? fail(share.error()) : misuse(share.error());
    }
    std::vector<Point> points;
    for (std::uint64_t number = 0; number < sweep_.point_count(); ++number) {
        if (share->has(number)) {
            points.push_back(make_point(number));
        }
    }
    const std::string file = part_file(*share);
    // Points that are in the database of the whole sweep are not simulated again by a part.
    std::vector<std::string> files{file};
    if (file != whole_ && std::filesystem::exists(whole_)) {
        files.push_back(whole_);
    }
    for (const std::string& each : files) {
        if (auto recalled = recall(each, points); !recalled) {
            return fail(recalled.error());
        }
    }
    auto database = Database::open(file, keys_);
    if (!database) {
        return fail(database.error());
    }
    const std::uint32_t jobs = run_.sweep.jobs != 0 ? run_.sweep.jobs
                               : share->launched    ? 1
                                                    : cores();
    const auto ran = run_points(points, jobs, *database);
    if (!ran) {
        return fail(ran.error());
    }
    return finish(points, file, !*ran);
}

/// Puts the results of all parts into the database of the whole sweep. The parts are the files
/// beside it with names of parts.
int Sweeper::merge() {
    const std::filesystem::path whole(whole_);
    const std::filesystem::path folder = whole.has_parent_path() ? whole.parent_path() : ".";
    const std::string begin = whole.stem().string() + ".part-";
    std::set<std::string> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with(begin) && entry.path().extension() == whole.extension()) {
            files.insert(entry.path());
        }
    }
    if (std::filesystem::exists(whole)) {
        files.insert(whole_);
    }
    if (files.empty()) {
        return fail(
            fmt::format("there are no results in {} and no parts beside it; run the sweep "
                        "first, or say with --db where they are",
                        whole_));
    }
    std::vector<Point> points;
    for (std::uint64_t number = 0; number < sweep_.point_count(); ++number) {
        points.push_back(make_point(number));
    }
    for (const std::string& file : files) {
        if (auto recalled = recall(file, points); !recalled) {
            return fail(recalled.error());
        }
    }
    auto database = Database::open(whole_, keys_);
    if (!database) {
        return fail(database.error());
    }
    for (const Point& point : points) {
        if (!point.outcome) {
            continue;
        }
        if (auto stored = database->store(point.key, point.number, point.values, *point.outcome);
            !stored) {
            return fail(stored.error());
        }
    }
    return finish(points, whole_, false);
}

/// Prints the results. Returns the exit status: 0 if every point is done.
int Sweeper::finish(const std::vector<Point>& points, const std::string& file, bool stopped) const {
    run::SweepReport report{.stopped = stopped};
    std::uint64_t failed = 0;
    std::uint64_t missing = 0;
    for (const Point& point : points) {
        report.rows.push_back({point.number, point.values, point.outcome});
        missing += point.outcome ? 0U : 1U;
        failed += point.outcome && point.outcome->failed ? 1U : 0U;
    }
    if (const int status = sim::write_outcome(run_.outputs, std::move(report)); status != 0) {
        return status;
    }
    note(fmt::format("{} of {} are in {}", counted(points.size() - missing, "point"), points.size(),
                     file));
    if (stopped) {
        note("stopped: the same command goes on where this one ended");
    }
    return failed + missing == 0 ? 0
           : failed == 0         ? 1
                                 : fail(fmt::format("{} failed; the errors are in {}, and the same "
                                                            "command tries them again",
                                                    counted(failed, "point"), file));
}

}  // namespace

int run_sweep(const run::Run& run) {
    Sweeper sweeper(run);
    return run.sweep.merge ? sweeper.merge() : sweeper.simulate_all();
}

}  // namespace softib::app::sweep
