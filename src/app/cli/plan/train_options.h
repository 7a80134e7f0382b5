// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The command lines of `softib plan train`, `search` and `models`. An option that was not given is
// 0 or empty, unless it has another default here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace softib::app {

struct TrainOptions {
    std::string model;
    std::string cluster;
    std::uint32_t gpus = 0;
    std::uint32_t tp = 0;
    std::uint32_t pp = 0;
    std::uint32_t interleave = 0;
    std::uint32_t cp = 0;
    std::uint32_t ep = 0;
    std::optional<std::uint32_t> zero;
    std::uint32_t batch = 0;
    std::uint32_t micro_batch = 0;
    std::uint32_t sequence = 0;
    std::uint32_t grad_bytes = 4;
    std::string recompute;
    std::string attention = "flash";
    std::string precision = "bf16";
    std::string tp_overlap = "backward";
    bool no_sequence_parallel = false;
    bool no_overlap_dp = false;
    bool no_overlap_pp = false;
    bool overlap_ep = false;
    std::uint32_t comm_sms = 0;
    bool uneven = false;
    std::string network = "flow";  ///< "analytic", "flow" or "packet".
    std::string placement = "topology";
    std::uint64_t seed = 1;
    bool rails_crossed = false;
    std::string rank_order = "tp-cp-dp-pp";
    std::string tokens;
    bool json = false;
    std::string html;
    std::string trace;
    std::vector<std::string> exports;  ///< FORMAT=FILE
    /// Layers whose exchanges within a pass are exported as one; 0: those exchanges are not
    /// exported, and the time of a pass has their time in it.
    std::uint32_t export_layers = 1;
    std::uint32_t top = 10;     ///< Rows of the table of `search`.
    std::uint32_t threads = 0;  ///< Threads of `search`; 0: one for each core.
};

int cmd_plan_train(const TrainOptions& options);
int cmd_plan_search(const TrainOptions& options);
int cmd_plan_models(const TrainOptions& options);

}  // namespace softib::app
