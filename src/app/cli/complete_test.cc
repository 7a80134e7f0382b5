// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/complete.h"

#include <gtest/gtest.h>

#include "spec/description.h"

namespace softib::app::complete {
namespace {

const Option kFabric{{"-f", "--fabric"}, "FABRIC", "which"};
const Option kJson{{"--json"}, "", "print JSON"};

Command exec_command() {
    return {.name = "exec",
            .help = "",
            .options = {kFabric, {{"--ns"}, "", ""}},
            .operands = {"HOST"},
            .last_repeats = false,
            .runs_program = true,
            .commands = {}};
}

Command route_command() {
    const Command set{.name = "set",
                      .help = "",
                      .options = {},
                      .operands = {"SWITCH", "LID", "PORT"},
                      .last_repeats = false,
                      .runs_program = false,
                      .commands = {}};
    return {.name = "route",
            .help = "",
            .options = {kFabric, kJson},
            .operands = {},
            .last_repeats = false,
            .runs_program = false,
            .commands = {set}};
}

Command program() {
    const Command down{.name = "down",
                       .help = "",
                       .options = {kJson},
                       .operands = {"FABRIC"},
                       .last_repeats = true,
                       .runs_program = false,
                       .commands = {}};
    return {.name = "softib",
            .help = "",
            .options = {},
            .operands = {},
            .last_repeats = false,
            .runs_program = false,
            .commands = {exec_command(), route_command(), down}};
}

class Complete : public testing::Test {
  protected:
    Wanted wanted(const std::vector<std::string>& words) { return find_wanted(program_, words); }

  private:
    const Command program_ = program();
};

TEST_F(Complete, WhatBeginsLikeNoSubcommandIsAnOperand) {
    const Command sim{.name = "sim",
                      .help = "",
                      .options = {},
                      .operands = {"FILE"},
                      .last_repeats = false,
                      .runs_program = false,
                      .commands = {route_command()}};
    const auto at = [&](const std::string& word) {
        return find_wanted(sim, std::vector<std::string>{word});
    };
    EXPECT_EQ(at("").names_of, &sim);
    EXPECT_EQ(at("ro").names_of, &sim);
    EXPECT_EQ(at("lab").names_of, nullptr);
    EXPECT_EQ(at("lab").operand, "FILE");
}

TEST_F(Complete, CommandsStandFirst) {
    ASSERT_NE(wanted({""}).names_of, nullptr);
    EXPECT_EQ(wanted({"ro"}).names_of->name, "softib");
    EXPECT_EQ(wanted({}).names_of->name, "softib");
    EXPECT_EQ(wanted({"route", "s"}).names_of->name, "route");
}

TEST_F(Complete, OperandsComeInTheirOrder) {
    EXPECT_EQ(wanted({"exec", ""}).operand, "HOST");
    EXPECT_EQ(wanted({"route", "set", "sw"}).operand, "SWITCH");
    EXPECT_EQ(wanted({"route", "set", "sw0", "--json", "3", ""}).operand, "PORT");
    EXPECT_EQ(wanted({"route", "set", "sw0", "3", ""}).given,
              (std::vector<std::string>{"sw0", "3"}));
    EXPECT_EQ(wanted({"route", "set", "sw0", "3", "1", ""}).operand, "");
}

TEST_F(Complete, LastOperandMayBeGivenAgain) {
    EXPECT_EQ(wanted({"down", "a", "b", ""}).operand, "FABRIC");
}

TEST_F(Complete, OptionIsFollowedByItsValue) {
    EXPECT_EQ(wanted({"exec", "-f", "l"}).operand, "FABRIC");
    EXPECT_EQ(wanted({"exec", "-f", "lab", "h"}).operand, "HOST");
    EXPECT_EQ(wanted({"exec", "-f", "lab", "h"}).fabric, "lab");
    EXPECT_EQ(wanted({"exec", "--fabric=lab", "h"}).fabric, "lab");
    EXPECT_EQ(wanted({"exec", "--ns", "h"}).operand, "HOST");
}

TEST_F(Complete, ValueInTheWordOfItsOption) {
    const Wanted value = wanted({"exec", "--fabric=la"});
    EXPECT_EQ(value.operand, "FABRIC");
    EXPECT_EQ(value.before, "--fabric=");
    EXPECT_EQ(value.prefix, "la");
}

TEST_F(Complete, DashBeginsAnOptionOfTheCommandOrThoseAbove) {
    EXPECT_EQ(wanted({"exec", "-"}).options.size(), 2U);
    EXPECT_EQ(wanted({"route", "set", "--"}).options.size(), 2U);
}

TEST_F(Complete, OtherProgramsLineBeginsBehindTheDashesOrTheOperands) {
    EXPECT_EQ(wanted({"exec", "h0", "--", ""}).program_at, 3U);
    EXPECT_EQ(wanted({"exec", "h0", "--", "ls", "-l", "--"}).program_at, 3U);
    EXPECT_EQ(wanted({"exec", "h0", "l"}).program_at, 2U);
    EXPECT_EQ(wanted({"exec", "h0", "ls", "-f", "x"}).program_at, 2U);
    EXPECT_EQ(wanted({"exec", "h0", "ls", "-f", "x"}).fabric, std::nullopt);
}

TEST(Defaults, HelpTellsWhatHoldsWithoutAFlag) {
    const std::string plain = spec::to_toml(spec::Description{});
    std::size_t told = 0;
    for (const spec::ConfigKey& key : spec::config_keys()) {
        if (!key.initial.empty()) {
            spec::Description description;
            ASSERT_TRUE(spec::apply_flag(key.name, std::string(key.initial), description))
                << key.name;
            EXPECT_EQ(spec::to_toml(description), plain) << key.name;
            ++told;
        }
    }
    EXPECT_GT(told, 10U);
}

}  // namespace
}  // namespace softib::app::complete
