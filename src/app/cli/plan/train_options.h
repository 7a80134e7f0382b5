// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The command lines of `softib plan train`, `search` and `models`.

#include "spec/train/question.h"

namespace softib::app {

struct TrainOptions {
    spec::TrainQuestion question = {};
    bool json = false;
};

int cmd_plan_train(const TrainOptions& options);
int cmd_plan_search(const TrainOptions& options);
int cmd_plan_models(const TrainOptions& options);

}  // namespace softib::app
