// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a GPU's kernels reach, from times that src/plan/train/measure_kernels.py took
// (`softib plan calibrate`).

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "answer/question.h"
#include "plan/train/calibration.h"

namespace softib::answer {

/// Kernels of one kind, and how far the model is from their times with the rates found.
struct CalibratedKind {
    std::string what = {};  ///< "products, bf16"
    std::size_t kernels = 0;
    double reached = 0;     ///< The part of the peak, 0 where there is none.
    double mean_error = 0;  ///< Mean of the magnitudes of errors.
    double most_error = 0;
};

/// An exchange between the GPUs of one machine.
struct TimedExchange {
    std::string op = {};
    double ranks = 0;
    double bytes = 0;
    double seconds = 0;
    double part = 0;  ///< Part of NVLink's rate.
};

struct CalibrationReport {
    std::string device = {};
    std::string software = {};
    std::string gpu = {};   ///< The planner's name of the GPU.
    std::string base = {};  ///< The rates from which is taken what was not measured.
    plan::Rates rates = {};
    std::vector<std::string> measured = {};  ///< Names of the recipes that were measured.
    std::vector<CalibratedKind> kinds = {};
    std::vector<TimedExchange> exchanges = {};
};
std::expected<CalibrationReport, Refusal> calibrate(const CalibrateQuestion& question);

/// Returns the file of rates, which `softib plan train --rates` takes.
std::string to_toml(const CalibrationReport& report);
/// Returns the report with the file of rates as the text "rates".
std::string to_json(const CalibrationReport& report);

}  // namespace softib::answer
