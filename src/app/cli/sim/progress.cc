// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "plan/units.h"

namespace softib::app::sim {

namespace {

constexpr std::chrono::milliseconds kRedraw{200};
constexpr int kBarWidth = 24;

}  // namespace

TerminalWatch::TerminalWatch(const run::Outputs& outputs, std::string path, PageServer* page)
    : path_(std::move(path)),
      step_(outputs.record_every),
      page_(page),
      terminal_(isatty(STDERR_FILENO) == 1),
      begun_(std::chrono::steady_clock::now()) {}

TerminalWatch::~TerminalWatch() {
    if (drawn_) {
        fmt::print(stderr, "\r\x1b[K");
    }
}

std::expected<void, std::string> TerminalWatch::accept(const run::Cost& cost) {
    constexpr double kLongest = 3600;
    const bool fits = run::fits_memory(cost);
    if (fits && cost.seconds <= kLongest) {
        return {};
    }
    return std::unexpected(fmt::format("this would take {}{}; go on with --yes", run::to_text(cost),
                                       fits ? "" : ", more memory than is free"));
}

void TerminalWatch::show(double part, net::TimePs now, std::uint64_t events) {
    const auto time = std::chrono::steady_clock::now();
    if (!terminal_ || time - last_ < kRedraw || time - begun_ < kRedraw) {
        return;
    }
    last_ = time;
    const double seconds = std::chrono::duration<double>(time - begun_).count();
    const int filled = static_cast<int>(part * kBarWidth);
    const std::string left = part > 0.01 ? fmt::format("{:.0f} s left", seconds / part * (1 - part))
                                         : std::string("...");
    fmt::print(stderr, "\r\x1b[K[{}{}] {:.0f} %  {}  {:.1f} million events/s  {}",
               std::string(static_cast<std::size_t>(filled), '#'),
               std::string(static_cast<std::size_t>(kBarWidth - filled), '.'), 100 * part,
               plan::show_time(now), static_cast<double>(events) / seconds / 1e6, left);
    std::fflush(stderr);
    drawn_ = true;
}

std::expected<void, std::string> TerminalWatch::begin(const topo::Fabric& fabric,
                                                      const net::Model& model) {
    if (path_.empty()) {
        return {};
    }
    auto created = Recorder::create(fabric, path_, step_);
    if (!created) {
        return std::unexpected(created.error());
    }
    recorder_.emplace(*std::move(created));
    recorder_->look(model, 0);
    return page_ != nullptr ? page_->start() : std::expected<void, std::string>();
}

net::TimePs TerminalWatch::next_look() const {
    return recorder_ ? recorder_->next_at() : net::kNever;
}

std::expected<void, std::string> TerminalWatch::finish(const net::Model& model) {
    if (!recorder_) {
        return {};
    }
    recorder_->finish(model);
    return recorder_->error().empty() ? std::expected<void, std::string>()
                                      : std::unexpected(recorder_->error());
}

}  // namespace softib::app::sim
