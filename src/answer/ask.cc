// SPDX-License-Identifier: BSD-2-Clause
#include "answer/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "answer/calibration.h"
#include "answer/cluster.h"
#include "answer/collective.h"
#include "answer/comparison.h"
#include "answer/description.h"
#include "answer/expect.h"
#include "answer/goodput.h"
#include "answer/plan_keys.h"
#include "answer/serve.h"
#include "answer/train.h"
#include "core/base/nearest.h"
#include "spec/train/question.h"

namespace softib::answer {

namespace {

using Answer = std::expected<std::string, std::string>;

/// A text that asks something.
struct QuestionText {
    std::string_view text;
    std::string file;  ///< What errors call the text.
    std::string folder;
    Networks& networks;
};

Answer answer_train(const QuestionText& asked) {
    const auto question =
        spec::parse_question(asked.text, spec::TrainAsk::kTrain, asked.file, asked.folder);
    if (!question) {
        return std::unexpected(question.error());
    }
    const auto timed = time_step(*question, asked.networks);
    return timed ? Answer(to_json(timed->report)) : std::unexpected(timed.error());
}

Answer answer_search(const QuestionText& asked) {
    const auto question =
        spec::parse_question(asked.text, spec::TrainAsk::kSearch, asked.file, asked.folder);
    if (!question) {
        return std::unexpected(question.error());
    }
    const auto found = search(*question);
    return found ? Answer(to_json(*found)) : std::unexpected(found.error());
}

/// Answers what has no keys.
template <std::string (*kJson)()>
Answer answer_list(const QuestionText& asked) {
    const auto said = spec::said_keys(asked.text, asked.file);
    if (!said || !said->empty()) {
        return std::unexpected(!said
                                   ? said.error()
                                   : fmt::format("{}: this question takes no keys; leave '{}' out",
                                                 said->front().place, said->front().name));
    }
    return kJson();
}

/// Reads a question, and has it answered.
template <typename Question, auto kAnswer>
Answer answer_keys(const QuestionText& asked) {
    const auto said = spec::said_keys(asked.text, asked.file);
    if (!said) {
        return std::unexpected(said.error());
    }
    Question question;
    if (const Read read = read_keys(*said, asked.folder, question); !read) {
        return std::unexpected(read.error());
    }
    const auto answer = kAnswer(question);
    return answer ? Answer(to_json(*answer)) : std::unexpected(answer.error().text);
}

std::expected<CollectiveReport, Refusal> collective(const CollectiveQuestion& question) {
    if (question.cluster.empty()) {
        return std::unexpected(Refusal{"say which cluster: cluster = \"NAME\""});
    }
    auto timed = time_collective(question);
    return timed ? std::expected<CollectiveReport, Refusal>(std::move(timed->report))
                 : std::unexpected(timed.error());
}

std::expected<plan::Comparison, Refusal> comparison(const CompareQuestion& question) {
    return compare(question);
}

std::expected<plan::ServeAnswer, Refusal> service(const ServeQuestion& question) {
    return serve(question);
}

std::expected<GoodputReport, Refusal> time_used(const GoodputQuestion& question) {
    return goodput(question);
}

std::expected<ExpectReport, Refusal> expectation(const ExpectQuestion& question) {
    return expect(question);
}

struct Kind {
    std::string_view name;
    Answer (*answer)(const QuestionText&);
};
constexpr Kind kKinds[] = {{"train", answer_train},
                           {"search", answer_search},
                           {"models", answer_list<models_json>},
                           {"presets", answer_list<presets_json>},
                           {"describe", answer_keys<DescribeQuestion, describe>},
                           {"show", answer_keys<ClusterQuestion, show>},
                           {"collective", answer_keys<CollectiveQuestion, collective>},
                           {"compare", answer_keys<CompareQuestion, comparison>},
                           {"serve", answer_keys<ServeQuestion, service>},
                           {"calibrate", answer_keys<CalibrateQuestion, calibrate>},
                           {"expect", answer_keys<ExpectQuestion, expectation>},
                           {"goodput", answer_keys<GoodputQuestion, time_used>}};

}  // namespace

std::optional<Answer> ask(std::string_view text, const std::string& folder) {
    Networks networks;
    return ask(text, folder, networks);
}

std::optional<Answer> ask(std::string_view text, const std::string& folder, Networks& networks) {
    const std::string file =
        folder.empty() ? "a question given as text" : folder + "/a question given as text";
    const auto wanted = spec::asked_for(text, file);
    if (!wanted) {
        return std::nullopt;
    }
    const auto* const kind = std::ranges::find(kKinds, *wanted, &Kind::name);
    if (kind == std::end(kKinds)) {
        std::vector<std::string_view> names;
        std::ranges::transform(kKinds, std::back_inserter(names), &Kind::name);
        return std::unexpected(fmt::format("{}: {}", file, unknown_name("ask", *wanted, names)));
    }
    return kind->answer({text, file, folder, networks});
}

}  // namespace softib::answer
