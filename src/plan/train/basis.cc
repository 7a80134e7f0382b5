// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/basis.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "plan/train/measured.h"

namespace softib::plan {

namespace {

std::string validation_of(const Model& model, const Cluster& cluster) {
    const bool experts = model.experts != 0;
    const MeasuredStep* nearest = nullptr;
    int most = -1;
    std::uint32_t alike = 0;
    for (const MeasuredStep& each : measured_steps()) {
        const StepCase made = case_of(each);
        const bool same_gpu = made.cluster.gpu.name == cluster.gpu.name;
        const bool same_kind = (made.model.experts != 0) == experts;
        alike += same_gpu && same_kind ? 1 : 0;
        // Steps on one GPU tell more than those of one kind of model; the latest are the nearest.
        const int score = 4 * static_cast<int>(same_gpu) + 2 * static_cast<int>(same_kind) +
                          static_cast<int>(each.model == model.name);
        if (score >= most) {
            most = score;
            nearest = &each;
        }
    }
    const std::string row =
        fmt::format("{} (row {} of 'softib plan validate')", nearest->what, nearest->id);
    const std::string what = fmt::format(
        "{} on {}", experts ? "a mixture of experts" : "a dense model", cluster.gpu.name);
    return alike == 0 ? fmt::format(
                            "not validated: no measured step of {} is known; the nearest "
                            "is {}",
                            what, row)
           : alike == 1 ? fmt::format("validated: {}, the only measured step of {}", row, what)
                        : fmt::format("validated: {}, and {} more of {}", row, alike - 1, what);
}

}  // namespace

std::vector<std::string> basis_of(const Model& model, const Cluster& cluster,
                                  const std::string& network) {
    std::vector<std::string> sentences;
    sentences.push_back(network == "analytic"
                            ? "exchanges timed by rates and latencies alone"
                            : fmt::format("exchanges timed on the {} model of the fabric, all "
                                          "groups of a dimension at once",
                                          network));
    sentences.push_back(
        fmt::format("assumed: kernels reach the rates '{}' ({}); dimensions do not slow each other "
                    "down; all wait for the slowest GPU, and nothing fails",
                    cluster.gpu.rates.name, cluster.gpu.rates.source));
    std::ranges::copy(notes_of(cluster), std::back_inserter(sentences));
    sentences.push_back(validation_of(model, cluster));
    return sentences;
}

}  // namespace softib::plan
