// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <softib/softib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr char kScenario[] =
    "seed = 3\n"
    "[fabric]\n"
    "topology = \"fat-tree\"\n"
    "hosts = 16\n"
    "radix = 8\n"
    "[[traffic]]\n"
    "pattern = \"shift\"\n"
    "size = \"64KiB\"\n";

struct Closer {
    void operator()(softib_simulation* of) const { softib_close(of); }
};
using Simulation = std::unique_ptr<softib_simulation, Closer>;

Simulation open_or_fail(const char* text) {
    char error[256] = "";
    Simulation opened(softib_open(text, nullptr, error, sizeof error));
    EXPECT_NE(opened, nullptr) << error;
    return opened;
}

std::uint64_t number(const Simulation& of, const char* name) {
    std::uint64_t value = 0;
    EXPECT_EQ(softib_number(of.get(), name, &value), 0) << name;
    return value;
}

std::vector<std::uint64_t> column(const Simulation& of, const char* table, const char* name) {
    std::vector<std::uint64_t> values(static_cast<std::size_t>(softib_rows(of.get(), table)));
    EXPECT_EQ(softib_column(of.get(), table, name, values.data(), values.size()),
              static_cast<std::int64_t>(values.size()))
        << name;
    return values;
}

}  // namespace

TEST(PlannerAbi, RunsAScenarioToItsEnd) {
    const Simulation of = open_or_fail(kScenario);
    EXPECT_EQ(softib_run(of.get(), SOFTIB_FOREVER, 0), 1);
    EXPECT_EQ(number(of, "messages_planned"), 16U);
    EXPECT_EQ(number(of, "messages_ended"), 16U);
    EXPECT_EQ(number(of, "ends"), 16U);
    const auto bytes = column(of, "messages", "bytes");
    EXPECT_EQ(bytes, std::vector<std::uint64_t>(16, 65536));
    const auto delivered = column(of, "messages", "delivered_ps");
    EXPECT_LE(std::ranges::max(delivered), number(of, "now_ps"));
    std::uint64_t carried = 0;
    for (const std::uint64_t each : column(of, "links", "bytes")) {
        carried += each;
    }
    EXPECT_GE(carried, 16U * 65536 * 2);
}

TEST(PlannerAbi, BytesOfMessagesUnderWayAreThere) {
    const Simulation of = open_or_fail(kScenario);
    softib_run(of.get(), 1'200'000, 0);
    EXPECT_EQ(number(of, "messages_ended"), 0U);
    for (const std::uint64_t each : column(of, "messages", "arrived_bytes")) {
        EXPECT_GT(each, 0U);
        EXPECT_LT(each, 65536U);
    }
}

TEST(PlannerAbi, StepsGiveWhatOneRunGives) {
    const Simulation whole = open_or_fail(kScenario);
    softib_run(whole.get(), SOFTIB_FOREVER, 0);
    const Simulation stepped = open_or_fail(kScenario);
    EXPECT_EQ(softib_run(stepped.get(), 1'000'000, 0), 1);
    EXPECT_LE(number(stepped, "now_ps"), 1'000'000U);
    EXPECT_LT(number(stepped, "messages_ended"), 16U);
    while (softib_run(stepped.get(), SOFTIB_FOREVER, 100) == 0) {
    }
    EXPECT_EQ(number(stepped, "log_hash"), number(whole, "log_hash"));
    EXPECT_EQ(column(stepped, "messages", "delivered_ps"),
              column(whole, "messages", "delivered_ps"));
}

TEST(PlannerAbi, AFaultIsASentenceAndFitsTheRoomThereIs) {
    char error[256] = "";
    EXPECT_EQ(softib_open("[fabric]\nhosts = -1\n", nullptr, error, sizeof error), nullptr);
    EXPECT_NE(std::string(error).find("hosts"), std::string::npos) << error;
    char small[8] = "";
    EXPECT_EQ(softib_open("[fabric\n", nullptr, small, sizeof small), nullptr);
    EXPECT_EQ(std::string(small).size(), sizeof small - 1);
    EXPECT_EQ(softib_open("[fabric\n", nullptr, nullptr, 0), nullptr);
}

TEST(PlannerAbi, OpensOneSimulationAndRefusesOtherKindsByName) {
    char error[512] = "";
    const std::string compare = std::string("compare = [\"ib\", \"roce\"]\n") + kScenario;
    EXPECT_EQ(softib_open(compare.c_str(), nullptr, error, sizeof error), nullptr);
    EXPECT_NE(std::string(error).find("'compare' makes this a comparison"), std::string::npos)
        << error;
    const std::string idle = std::string(kScenario) + "target = \"h1\"\n";
    EXPECT_EQ(softib_open(idle.c_str(), nullptr, error, sizeof error), nullptr);
    EXPECT_NE(std::string(error).find("'target' is for the patterns"), std::string::npos) << error;
}

std::string answer_to(const std::string& text, std::span<char> error) {
    char* const answer = softib_ask(text.c_str(), nullptr, error.data(), error.size());
    std::string taken = answer == nullptr ? "" : answer;
    softib_free(answer);
    return taken;
}

TEST(PlannerAbi, AsksForARunOfAnyKind) {
    char error[512] = "";
    const auto ask = [&](const std::string& text) { return answer_to(text, error); };
    EXPECT_NE(ask(kScenario).find("\"busiest_links\""), std::string::npos) << error;
    EXPECT_NE(ask("compare = \"ib,roce\"\n" + std::string(kScenario)).find("\"variants\""),
              std::string::npos)
        << error;
    EXPECT_EQ(ask("compare = \"ib+ecn=off\"\n"), "");
    EXPECT_NE(std::string(error).find("'ecn' is for Ethernet"), std::string::npos) << error;
}

TEST(PlannerAbi, AnswersQuestionsToThePlanner) {
    char error[512] = "";
    const auto ask = [&](const std::string& kind, const std::string& keys) {
        return answer_to("ask = \"" + kind + "\"\nmodel = \"llama3.1-8b\"\n" + keys, error);
    };
    EXPECT_NE(ask("train", "cluster = \"hgx-h200:2\"\n").find("\"step_s\""), std::string::npos)
        << error;
    EXPECT_NE(ask("search", "cluster = \"hgx-h200:2\"\ntp = 8\n").find("\"fitting\""),
              std::string::npos)
        << error;
    EXPECT_EQ(ask("train", "cluster = \"hgx-h20\"\n"), "");
    EXPECT_NE(std::string(error).find("did you mean 'hgx-h200'?"), std::string::npos) << error;
}

TEST(PlannerAbi, NamesThatNothingHasAreRefused) {
    const Simulation of = open_or_fail(kScenario);
    std::uint64_t value = 7;
    EXPECT_EQ(softib_number(of.get(), "nonsense", &value), -1);
    EXPECT_EQ(value, 7U);
    EXPECT_EQ(softib_text(of.get(), "nonsense"), nullptr);
    EXPECT_EQ(softib_rows(of.get(), "nonsense"), -1);
    EXPECT_EQ(softib_column(of.get(), "links", "nonsense", &value, 1), -1);
    EXPECT_EQ(softib_column(of.get(), "nonsense", "bytes", &value, 1), -1);
}

TEST(PlannerAbi, TextsNameEndsAndLinks) {
    const Simulation of = open_or_fail(kScenario);
    const std::string ends = softib_text(of.get(), "ends");
    EXPECT_TRUE(ends.starts_with("h0\nh1\n")) << ends;
    const std::string links = softib_text(of.get(), "links");
    EXPECT_EQ(std::ranges::count(links, '\n'), softib_rows(of.get(), "links"));
    EXPECT_STREQ(softib_text(of.get(), "notes"), "");
}

TEST(PlannerAbi, ASimulationSaysWhatItsFiguresAreWorth) {
    const Simulation of = open_or_fail(kScenario);
    const std::string basis = softib_text(of.get(), "basis");
    EXPECT_TRUE(basis.starts_with("model packet: ")) << basis;
    EXPECT_TRUE(basis.contains("\nassumed: ")) << basis;
    EXPECT_TRUE(basis.contains("docs/validation.md")) << basis;
}
