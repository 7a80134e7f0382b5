// SPDX-License-Identifier: BSD-2-Clause
#include "answer/ask.h"

#include <gtest/gtest.h>

#include "answer/train.h"

namespace softib::answer {
namespace {

constexpr char kJob[] = "model = \"llama3.1-8b\"\ncluster = \"hgx-h200:2\"\ntp = 2\n";

std::expected<std::string, std::string> ask_for(const std::string& kind, const std::string& keys) {
    return ask("ask = \"" + kind + "\"\n" + kJob + keys, "").value();
}

TEST(Ask, AnswersAreThoseOfTheCommand) {
    const spec::TrainQuestion question{
        .model = "llama3.1-8b", .cluster = "hgx-h200:2", .wish = {.tp = 2}};
    EXPECT_EQ(ask_for("train", "").value(), to_json(time_step(question)->report));
    EXPECT_TRUE(ask_for("search", "top = 2\n").value().contains("\"open\": 0"));
}

TEST(Ask, ThreadsDoNotChangeWhatASearchFinds) {
    EXPECT_EQ(ask_for("search", "threads = 1\n"), ask_for("search", "threads = 5\n"));
}

TEST(Ask, AFaultIsASentence) {
    EXPECT_EQ(ask_for("trian", "").error(),
              "a question given as text: unknown ask 'trian'; did you mean 'train'?");
    EXPECT_TRUE(ask_for("train", "pp = 3\n").error().starts_with("pp 3 must divide the 32 layers"));
    EXPECT_TRUE(ask_for("train", "top = 3\n").error().contains("'top' changes nothing here"));
    EXPECT_FALSE(ask("[fabric]\nhosts = 4\n", "").has_value()) << "a scenario";
    EXPECT_FALSE(ask("ask = [", "").has_value()) << "no TOML";
}

}  // namespace
}  // namespace softib::answer
