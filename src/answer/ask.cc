// SPDX-License-Identifier: BSD-2-Clause
#include "answer/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "answer/train.h"
#include "core/base/nearest.h"
#include "spec/train/question.h"

namespace softib::answer {

namespace {

using Answer = std::expected<std::string, std::string>;

Answer answer_train(const spec::TrainQuestion& question) {
    const auto timed = time_step(question);
    return timed ? Answer(to_json(timed->report)) : std::unexpected(timed.error());
}

Answer answer_search(const spec::TrainQuestion& question) {
    const auto found = search(question);
    return found ? Answer(to_json(*found)) : std::unexpected(found.error());
}

struct Kind {
    std::string_view name;
    spec::TrainAsk ask;
    Answer (*answer)(const spec::TrainQuestion&);
};
constexpr Kind kKinds[] = {{"train", spec::TrainAsk::kTrain, answer_train},
                           {"search", spec::TrainAsk::kSearch, answer_search}};

}  // namespace

std::optional<Answer> ask(std::string_view text, const std::string& folder) {
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
    const auto question = spec::parse_question(text, kind->ask, file, folder);
    return question ? kind->answer(*question) : std::unexpected(question.error());
}

}  // namespace softib::answer
