// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subcommands of `softib plan`, one file each. cli_plan.cc turns the command line into these
// structures; a command returns the exit status of the program.

#include <string>
#include <vector>

#include "answer/calibration.h"
#include "answer/question.h"
#include "app/cli/commands.h"
#include "app/fabric/term.h"

namespace softib::app {

/// Prints why there is no answer. Returns the exit status.
inline int refuse(const answer::Refusal& refusal) {
    return refusal.misuse ? misuse(refusal.text) : fail_describing(refusal.text);
}

struct PlanClusterOptions {
    answer::ClusterQuestion question;
    bool json = false;
};
int cmd_plan_presets(const PlanClusterOptions& options);
int cmd_plan_show(const PlanClusterOptions& options);

struct PlanCollectiveOptions {
    answer::CollectiveQuestion question;
    std::vector<std::string> exports;  ///< FORMAT=FILE
    bool json = false;
    std::string html;
};
int cmd_plan_collective(const PlanCollectiveOptions& options);

struct PlanCompareOptions {
    answer::CompareQuestion question;
    std::vector<std::string> vary;  ///< KEY=VALUE,...
    bool json = false;
    std::string html;
    std::string csv;
};
int cmd_plan_compare(const PlanCompareOptions& options);

struct PlanServeOptions {
    answer::ServeQuestion question;
    bool json = false;
    std::string html;
};
int cmd_plan_serve(const PlanServeOptions& options);

struct PlanExpectOptions {
    answer::ExpectQuestion question;
    bool json = false;
};
/// Returns 1 if a row is off, 2 if the question or a log is wrong.
int cmd_plan_expect(const PlanExpectOptions& options);

struct PlanValidateOptions {
    bool markdown = false;
    bool errors = false;
    bool json = false;
};
int cmd_plan_validate(const PlanValidateOptions& options);

struct PlanCalibrateOptions {
    answer::CalibrateQuestion question;
    std::string output;
    std::string device;
    std::string python = "python3";
    bool device_given = false;
    bool python_given = false;
    bool quick = false;
    bool program = false;
    bool json = false;
};
int cmd_plan_calibrate(const PlanCalibrateOptions& options);

struct PlanOptions {
    PlanClusterOptions presets;
    PlanClusterOptions show;
    PlanCollectiveOptions collective;
    PlanCompareOptions compare;
    PlanServeOptions serve;
    PlanExpectOptions expect;
    PlanValidateOptions validate;
    PlanCalibrateOptions calibrate;
};

}  // namespace softib::app
