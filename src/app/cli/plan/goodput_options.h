// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The command line of `softib plan goodput`.

#include "answer/goodput.h"

namespace softib::app {

struct GoodputOptions {
    answer::GoodputQuestion question = {};
    bool json = false;
};

int cmd_plan_goodput(const GoodputOptions& options);

}  // namespace softib::app
