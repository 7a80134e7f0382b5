// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Watches a run from a terminal: a bar shows how far it is, Ctrl-C stops it with the results so
// far, and a recorder writes the counters of its ports.

#include <chrono>
#include <optional>
#include <string>

#include "app/cli/sim/interrupt.h"
#include "app/cli/sim/page_server.h"
#include "app/cli/sim/recorder.h"
#include "run/run.h"
#include "run/watch.h"

namespace softib::app::sim {

class TerminalWatch : public run::Watch {
  public:
    /// `path`: the file of the recording; empty: nothing is recorded. `page`: shows it; nullptr:
    /// none does.
    TerminalWatch(const run::Outputs& outputs, std::string path, PageServer* page);
    ~TerminalWatch() override;
    TerminalWatch(const TerminalWatch&) = delete;
    TerminalWatch& operator=(const TerminalWatch&) = delete;

    std::expected<void, std::string> accept(const run::Cost& cost) override;
    bool stopped() override { return interrupt_.interrupted(); }
    void show(double part, net::TimePs now, std::uint64_t events) override;
    std::expected<void, std::string> begin(const topo::Fabric& fabric,
                                           const net::Model& model) override;
    net::TimePs next_look() const override;
    void look(const net::Model& model, net::TimePs at) override { recorder_->look(model, at); }
    std::expected<void, std::string> finish(const net::Model& model) override;

  private:
    InterruptWatch interrupt_;
    std::string path_;
    net::TimePs step_;
    PageServer* page_;
    std::optional<Recorder> recorder_ = {};
    bool terminal_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point begun_;
    std::chrono::steady_clock::time_point last_ = {};
};

}  // namespace softib::app::sim
