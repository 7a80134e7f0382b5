// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/basis.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace softib::plan {

namespace {

constexpr MeasuredSteps kMeasured[] = {
    {"A100", false, "M2, M4", "GPT of 1.7 to 1,008 B on 8 to 3,072 A100"},
    {"H100", false, "M6, M7", "Llama 3.1 405B and GPT-3 175B on 96 to 16,384 H100"},
    {"H800", true, "M9", "DeepSeek-V3 in FP8 on 2,048 H800"},
};

std::string validation_of(const Model& model, const Cluster& cluster) {
    const bool experts = model.experts != 0;
    const std::string what = experts ? "a mixture of experts" : "a dense model";
    const MeasuredSteps* nearest = &kMeasured[0];
    int most = -1;
    for (const MeasuredSteps& each : kMeasured) {
        if (each.gpu == cluster.gpu.name && each.experts == experts) {
            return fmt::format("validated: {} (rows {} of 'softib plan validate')", each.claim,
                               each.rows);
        }
        // Rows of one GPU tell more than those of one kind of model; the latest GPU is the nearest.
        const int score = 2 * static_cast<int>(each.gpu == cluster.gpu.name) +
                          static_cast<int>(each.experts == experts);
        if (score >= most) {
            most = score;
            nearest = &each;
        }
    }
    return fmt::format(
        "not validated: no published step of {} on {} is among the rows of 'softib plan validate'; "
        "the nearest are {} ({})",
        what, cluster.gpu.name, nearest->rows, nearest->claim);
}

}  // namespace

std::span<const MeasuredSteps> measured_steps() {
    return kMeasured;
}

std::vector<std::string> basis_of(const Model& model, const Cluster& cluster,
                                  const std::string& network) {
    std::vector<std::string> sentences;
    sentences.push_back(network == "analytic"
                            ? "exchanges timed by rates and latencies alone"
                            : fmt::format("exchanges timed on the {} model of the fabric, all "
                                          "groups of a dimension at once",
                                          network));
    sentences.emplace_back(
        "assumed: kernels reach the parts of the peak that were fitted once for A100, for H100 and "
        "later, and for FP8; dimensions do not slow each other down; nothing fails");
    std::ranges::copy(notes_of(cluster), std::back_inserter(sentences));
    sentences.push_back(validation_of(model, cluster));
    return sentences;
}

}  // namespace softib::plan
