// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

#include "app/cli/sim/interrupt.h"
#include "plan/units.h"

namespace softib::app::sim {

namespace {

constexpr std::uint32_t kStep = 200'000;  ///< Events between looks: some hundredths of a second.
constexpr std::chrono::milliseconds kRedraw{200};
constexpr int kBarWidth = 24;

double cpu_seconds() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// The progress bar at the bottom of a terminal.
class Bar {
  public:
    explicit Bar(bool shows)
        : terminal_(shows && isatty(STDERR_FILENO) == 1),
          begun_(std::chrono::steady_clock::now()) {}
    ~Bar() {
        if (drawn_) {
            fmt::print(stderr, "\r\x1b[K");
        }
    }
    Bar(const Bar&) = delete;
    Bar& operator=(const Bar&) = delete;

    void draw(double done, plan::TimePs now, std::uint64_t events) {
        const auto time = std::chrono::steady_clock::now();
        if (!terminal_ || time - last_ < kRedraw || time - begun_ < kRedraw) {
            return;
        }
        last_ = time;
        const double seconds = std::chrono::duration<double>(time - begun_).count();
        const int filled = static_cast<int>(done * kBarWidth);
        std::string left = done > 0.01 ? fmt::format("{:.0f} s left", seconds / done * (1 - done))
                                       : std::string("...");
        fmt::print(stderr, "\r\x1b[K[{}{}] {:.0f} %  {}  {:.1f} million events/s  {}",
                   std::string(static_cast<std::size_t>(filled), '#'),
                   std::string(static_cast<std::size_t>(kBarWidth - filled), '.'), 100 * done,
                   plan::show_time(now), static_cast<double>(events) / seconds / 1e6, left);
        std::fflush(stderr);
        drawn_ = true;
    }

  private:
    bool terminal_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point begun_;
    std::chrono::steady_clock::time_point last_;
};

/// Does the same as Player::run_some, and lets the recorder look when it is due.
bool run_and_record(plan::Player& player, plan::TimePs until, Recorder* recorder) {
    if (recorder == nullptr || recorder->next_at() >= until) {
        return player.run_some(until, kStep);
    }
    const plan::TimePs at = recorder->next_at();
    if (player.run_some(at, kStep)) {
        recorder->look(player.model(), at);
    }
    return player.model().idle();
}

}  // namespace

Ran run_with_progress(plan::Player& player, plan::TimePs until, std::uint32_t mtu, bool shows,
                      Recorder* recorder) {
    const InterruptWatch watch;
    const double begun = cpu_seconds();
    Bar bar(shows);
    const double packets =
        std::max<double>(static_cast<double>(player.bytes_planned()) / mtu +
                             2.0 * static_cast<double>(player.messages_planned()),
                         1);
    bool done = false;
    while (!done && !watch.interrupted()) {
        done = run_and_record(player, until, recorder);
        const net::Model& model = player.model();
        double part = std::max(
            static_cast<double>(model.packets_delivered()) / packets,
            static_cast<double>(player.ended()) /
                static_cast<double>(std::max<std::uint64_t>(player.messages_planned(), 1)));
        if (until != plan::kNever && until != 0) {
            part = std::max(part, static_cast<double>(model.now()) / static_cast<double>(until));
        }
        bar.draw(std::min(part, 1.0), model.now(), model.events());
    }
    if (recorder != nullptr) {
        recorder->finish(player.model());
    }
    return {.stopped = !done, .cpu_seconds = cpu_seconds() - begun};
}

}  // namespace softib::app::sim
