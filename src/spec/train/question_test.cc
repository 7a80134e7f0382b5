// SPDX-License-Identifier: BSD-2-Clause
#include "spec/train/question.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace softib::spec {
namespace {

constexpr char kJob[] = "model = \"llama3.1-8b\"\ncluster = \"hgx-h200:4\"\n";

std::expected<TrainQuestion, std::string> read(const std::string& keys,
                                               TrainAsk ask = TrainAsk::kTrain) {
    return parse_question(kJob + keys, ask, "question", "");
}

TEST(TrainQuestion, KeysAreThoseOfFlags) {
    const auto question = read(
        "tp = 8\nmicro-batch = 2\nno_overlap_dp = true\nuneven = false\n"
        "precision = \"fp8\"\nzero = 3\ntokens = \"1.5T\"\n");
    ASSERT_TRUE(question.has_value()) << question.error();
    EXPECT_EQ(question->wish.tp, 8U);
    EXPECT_EQ(question->wish.micro_batch, 2U);
    EXPECT_FALSE(question->wish.framework.overlap_dp);
    EXPECT_FALSE(question->wish.framework.uneven);
    EXPECT_EQ(question->wish.framework.recipe, plan::Recipe::kFp8);
    EXPECT_EQ(question->wish.zero, 3U);
    EXPECT_EQ(question->tokens, 1.5e12);
    EXPECT_EQ(job_of(*question, TrainAsk::kTrain)->mapping.tp, 8U);
}

TEST(TrainQuestion, AFrameworkGivesWhatIsNotSaidInAnyOrder) {
    for (const char* const text : {"framework = \"fsdp2\"\ngrad_bytes = 4\ngpus = 64\n",
                                   "grad_bytes = 4\ngpus = 64\nframework = \"fsdp2\"\n"}) {
        const auto question = read(text);
        ASSERT_TRUE(question.has_value()) << question.error();
        const plan::Mapping mapping = job_of(*question, TrainAsk::kSearch)->mapping;
        EXPECT_EQ(mapping.zero, 3U);
        EXPECT_EQ(mapping.grad_bytes, 4U);
        EXPECT_EQ(mapping.tp_overlap, plan::TensorOverlap::kNone);
    }
    EXPECT_TRUE(
        read("framework = \"torch\"\n")
            .error()
            .contains(
                "'framework' must be megatron-lm, megatron-bridge, nemo or fsdp2, not 'torch'"));
    // What a framework leaves out can be asked for; what is so anyway cannot.
    EXPECT_TRUE(read("framework = \"megatron-lm\"\noverlap_dp = true\n").has_value());
    EXPECT_TRUE(read("overlap_dp = true\n").error().contains("changes nothing here"));
}

TEST(TrainQuestion, ErrorsNameTheKeyAndItsPlace) {
    EXPECT_EQ(read("tpp = 8\n").error(), "question:3:1: unknown key 'tpp'; did you mean 'tp'?");
    EXPECT_EQ(read("tp = 0\n").error(),
              "question:3:1: 'tp' must be a whole number from 1 to 100000000, not '0'");
    EXPECT_EQ(
        read("precision = \"int8\"\n").error(),
        "question:3:1: 'precision' must be bf16, fp16, fp8, fp8-block, mxfp8 or nvfp4, not 'int8'");
    EXPECT_EQ(read("uneven = 1\n").error(), "question:3:1: 'uneven' must be true or false");
    EXPECT_TRUE(read("html = \"a.html\"\n").error().contains("softib plan train --html FILE"));
    EXPECT_EQ(parse_question("model = \"llama3.1-8b\"\n", TrainAsk::kTrain, "question", "").error(),
              "question: say which cluster: cluster = \"NAME\"");
}

TEST(TrainQuestion, AKeyThatChangesNothingIsRefused) {
    for (const char* idle :
         {"seed = 2\n", "placement = \"random\"\nnetwork = \"analytic\"\n",
          "rails_crossed = true\nnetwork = \"analytic\"\n", "export_layers = 4\n", "top = 3\n",
          "threads = 2\n", "uneven = true\n", "no_overlap_pp = true\npp = 1\n",
          "rank_order = \"tp-cp-pp-dp\"\n", "tp_overlap = \"all\"\n",
          "no_sequence_parallel = true\n", "overlap_ep = true\n"}) {
        const auto question = read(idle);
        ASSERT_FALSE(question.has_value()) << idle;
        EXPECT_TRUE(question.error().contains("changes nothing here: ")) << question.error();
    }
    EXPECT_TRUE(read("seed = 2\nplacement = \"random\"\n").has_value());
    EXPECT_TRUE(read("uneven = true\npp = 2\n").has_value());
    // A search finds out whether tensors are divided.
    EXPECT_TRUE(read("tp_overlap = \"all\"\n", TrainAsk::kSearch).has_value());
    EXPECT_FALSE(read("tp_overlap = \"all\"\ntp = 1\n", TrainAsk::kSearch).has_value());
    const auto uneven = read("uneven = true\n", TrainAsk::kSearch);
    EXPECT_EQ(uneven.error(),
              "question: 'uneven' changes nothing here: a search tries uneven stages too; leave it "
              "out");
}

TEST(TrainQuestion, AKeyThatChangesNothingWithThisModelOnTheseGpusIsRefused) {
    const struct {
        const char* keys;
        const char* said;
        TrainAsk ask = TrainAsk::kTrain;
    } cases[] = {
        {"gpus = 8\ntp = 8\nzero = 3\n", "zero changes nothing here: all 8 GPUs are one replica"},
        {"gpus = 8\npp = 8\nno_overlap_dp = true\n",
         "no_overlap_dp changes nothing here: all 8 GPUs are one replica"},
        {"pp = 4\nuneven = true\n", "uneven changes nothing here: the 32 layers divide among 4"},
        {"overlap_ep = true\n", "overlap_ep changes nothing here: llama3.1-8b has no experts",
         TrainAsk::kSearch},
    };
    for (const auto& [keys, said, ask] : cases) {
        const auto question = read(keys, ask);
        ASSERT_TRUE(question.has_value()) << question.error();
        const auto job = job_of(*question, ask);
        ASSERT_FALSE(job.has_value()) << keys;
        EXPECT_TRUE(job.error().starts_with(said)) << job.error();
    }
    EXPECT_TRUE(job_of(*read("pp = 3\nuneven = true\nzero = 0\n"), TrainAsk::kTrain).has_value());
}

TEST(TrainQuestion, EveryKeyServesSomeQuestionOrSaysWhyNot) {
    std::set<std::string_view> names;
    for (const TrainKey& key : train_keys()) {
        EXPECT_TRUE(names.insert(key.name).second) << key.name;
        EXPECT_TRUE(key.for_train || key.for_search) << key.name;
        EXPECT_EQ(key.why.empty(), key.for_train && key.for_search) << key.name;
        EXPECT_FALSE(key.help.empty()) << key.name;
    }
}

}  // namespace
}  // namespace softib::spec
