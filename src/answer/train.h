// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers to questions about training (spec/train/question.h), for the command and for programs:
// the same computation, and the same JSON.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer/networks.h"
#include "plan/train/communication.h"
#include "plan/train/measured.h"
#include "plan/train/search.h"
#include "plan/train/step.h"
#include "spec/train/question.h"

namespace softib::answer {

/// A step of a job.
struct StepReport {
    plan::Model model = {};
    plan::Cluster cluster = {};
    plan::Mapping mapping = {};
    plan::Step step = {};
    /// If the user has said no mapping: the quickest, of which `mapping` is the first.
    plan::SearchResult chosen = {};
    plan::StepInterval interval = {};            ///< In which 4 of 5 steps of its kind lie.
    const plan::Framework* framework = nullptr;  ///< That whose defaults hold; null: none.
    std::vector<plan::Choice> choices = {};      ///< How the job computes, and who says so.
    double tokens = 0;                           ///< Tokens to train on; 0: the user did not say.
    std::string network = {};                    ///< How exchanges were timed: "flow".
    std::vector<std::string> notes = {};  ///< What the answer stands on (plan/train/basis.h).
};

/// The step of a job, and the network that timed its exchanges.
struct TimedStep {
    StepReport report = {};
    std::shared_ptr<plan::Communication> network = {};
};

/// The quickest mappings of a job.
struct SearchReport {
    plan::Model model = {};
    plan::Cluster cluster = {};
    std::uint32_t gpus = 0;
    std::string network = {};  ///< How exchanges of the best mappings were timed: "flow".
    double seconds = 0;        ///< Time that the search took.
    plan::SearchResult result = {};
    std::vector<std::string> notes = {};  ///< What the answer stands on.
};

/// Times the step that a question asks for. The error says what the user can change.
std::expected<TimedStep, std::string> time_step(const spec::TrainQuestion& question);
/// Times the step on a cluster that there is. `chooses`: degrees that were not said are chosen,
/// also beside others that were.
std::expected<TimedStep, std::string> time_step(const spec::TrainQuestion& question,
                                                plan::Cluster cluster, bool chooses);
/// Does the same on a network that an earlier question may have left.
std::expected<TimedStep, std::string> time_step(const spec::TrainQuestion& question,
                                                Networks& networks);

/// Returns how busy the exchanges of a step keep the fabric, if its network knows. It takes longer
/// than the step itself.
std::optional<plan::FabricLoad> load_of(const TimedStep& timed);

/// What a caller may do while a search runs; both may be empty.
struct SearchWatch {
    std::function<bool()> stop = {};  ///< Asked by several threads; true ends the search.
    std::function<void(plan::SearchStage, std::size_t done, std::size_t all)> tell = {};
};
/// Searches the quickest mappings, on several threads. The error says why there is none.
std::expected<SearchReport, std::string> search(const spec::TrainQuestion& question,
                                                const SearchWatch& watch = {});

std::string to_json(const StepReport& report);
std::string to_json(const SearchReport& report);
/// Returns the models that are known by name, as JSON.
std::string models_json();

}  // namespace softib::answer
