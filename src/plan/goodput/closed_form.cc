// SPDX-License-Identifier: BSD-2-Clause
#include "plan/goodput/closed_form.h"

#include <cmath>

namespace softib::plan {

FailureTimes failure_times(const GoodputJob& job) {
    double rate = 0;
    double resume = 0;
    for (const FailureKind& kind : job.failures.kinds) {
        if (kind.planned || !interrupts(job, kind)) {
            continue;
        }
        const double each = rate_of(job, kind);
        rate += each;
        resume += each * ((kind.hangs ? job.timeout_s : job.detect_s) + job.resume_s());
    }
    return rate > 0 ? FailureTimes{1 / rate, resume / rate}
                    : FailureTimes{INFINITY, job.detect_s + job.resume_s()};
}

double daly_interval(double stall_s, double between_s) {
    if (stall_s >= 2 * between_s) {
        return between_s;
    }
    const double part = stall_s / (2 * between_s);
    return std::sqrt(2 * stall_s * between_s) * (1 + std::sqrt(part) / 3 + part / 9) - stall_s;
}

double daly_ettr(double interval_s, double stall_s, const FailureTimes& times) {
    if (std::isinf(times.between_s)) {
        return interval_s / (interval_s + stall_s);
    }
    const double mean = times.between_s;
    return interval_s /
           (mean * std::exp(times.resume_s / mean) * std::expm1((interval_s + stall_s) / mean));
}

double first_order_ettr(double interval_s, const FailureTimes& times) {
    return std::isinf(times.between_s) ? 1
                                       : 1 - (times.resume_s + interval_s / 2) / times.between_s;
}

}  // namespace softib::plan
