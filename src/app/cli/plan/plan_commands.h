// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subcommands of `softib plan`, one file each. cli_plan.cc turns the command line into these
// structures; a command returns the exit status of the program.

#include <cstdint>
#include <string>
#include <vector>

namespace softib::app {

struct PlanClusterOptions {
    std::string cluster;      ///< A preset or a file.
    std::uint32_t nodes = 0;  ///< The first nodes of the cluster; 0: all.
    std::string prices;       ///< A file with prices; empty: the built-in ranges.
    bool json = false;
};
int cmd_plan_presets(const PlanClusterOptions& options);
int cmd_plan_show(const PlanClusterOptions& options);

struct PlanCollectiveOptions {
    std::string cluster;
    std::uint32_t nodes = 0;
    std::string op = "all-reduce";
    std::string sizes = "8:1G";       ///< FROM:TO by powers of two, or a list of sizes.
    std::string algorithms = "nccl";  ///< Names separated by commas, "all", or "nccl".
    std::string protocol;             ///< Empty: the one that NCCL would choose.
    bool collnet = false;             ///< Whether NCCL may let switches aggregate.
    std::uint32_t channels = 0;
    std::string order = "topology";
    bool rails_crossed = false;
    std::uint64_t seed = 1;
    std::string model = "flow";
    std::string stack = "nccl";
    std::string step_time = "0ns";     ///< Time that an MPI takes for a step beside the message.
    std::vector<std::string> exports;  ///< FORMAT=FILE
    bool json = false;
    std::string html;
    std::vector<std::string> given;  ///< Names of the options that were given.
};
int cmd_plan_collective(const PlanCollectiveOptions& options);

struct PlanCompareOptions {
    std::string what;
    std::string cluster;
    std::uint32_t nodes = 0;
    std::string model = "flow";
    std::string size;
    std::string prices;  ///< A file with prices; empty: the built-in ranges.
    bool json = false;
    std::string html;
    std::vector<std::string> given;  ///< Names of the options that were given.
};
int cmd_plan_compare(const PlanCompareOptions& options);

struct PlanValidateOptions {
    bool markdown = false;
    bool errors = false;
    bool json = false;
};
int cmd_plan_validate(const PlanValidateOptions& options);

struct PlanOptions {
    PlanClusterOptions presets;
    PlanClusterOptions show;
    PlanCollectiveOptions collective;
    PlanCompareOptions compare;
    PlanValidateOptions validate;
};

}  // namespace softib::app
