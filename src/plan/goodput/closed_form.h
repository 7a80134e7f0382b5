// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Closed forms for the time that training loses to failures, without waits for nodes and without
// links that fail over. Times are in seconds.

#include "plan/goodput/goodput.h"

namespace softib::plan {

/// What the closed forms take from a job.
struct FailureTimes {
    double between_s = 0;  ///< Mean time between interruptions; infinite if there are none.
    double resume_s = 0;   ///< Mean time from a failure to the first step after it.
};
FailureTimes failure_times(const GoodputJob& job);

/// Returns the time between checkpoints that loses least (Daly, "A higher order estimate of the
/// optimum checkpoint interval for restart dumps", 2006, equation 37): near Young's square root of
/// twice the stall times the time between failures, less the stall.
double daly_interval(double stall_s, double between_s);

/// Returns the part of its time that a job trains (the same paper, equation 20), if failures may
/// come during a restart too: interval / (M exp(R/M) (exp((interval + stall)/M) - 1)).
double daly_ettr(double interval_s, double stall_s, const FailureTimes& times);

/// Returns the estimate of Kokolis et al. (arXiv 2410.21680) for a long job that waits for no
/// nodes: 1 - rate * (restart + interval/2). It leaves the stall of checkpoints out.
double first_order_ettr(double interval_s, const FailureTimes& times);

}  // namespace softib::plan
