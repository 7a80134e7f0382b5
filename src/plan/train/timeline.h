// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A step as a timeline for chrome://tracing and Perfetto: a process for each pipeline stage, with
// rows for passes, for sends and for gradients.

#include <string>

#include "plan/train/step.h"

namespace softib::plan {

/// Returns the timeline of a step as JSON.
std::string chrome_trace(const Step& step);

}  // namespace softib::plan
