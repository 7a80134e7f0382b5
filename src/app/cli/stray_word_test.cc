// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/stray_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace softib::app::complete {
namespace {

Command small_command(const char* name) {
    Command made;
    made.name = name;
    made.options = {{{"-h", "--help"}, "", ""}};
    return made;
}

/// Makes a program with the commands up [NAME], down [FABRIC...], exec HOST -- PROGRAM, and
/// route show|set.
Command small_program() {
    Command up = small_command("up");
    up.options.push_back({{"-n", "--hosts"}, "N", ""});
    up.options.push_back({{"-v", "--verbose"}, "", ""});
    up.options.push_back({{"--delta"}, "N", ""});
    up.operands = {"NAME"};
    Command down = small_command("down");
    down.operands = {"FABRIC"};
    down.last_repeats = true;
    Command exec = small_command("exec");
    exec.operands = {"HOST"};
    exec.runs_program = true;
    Command show = small_command("show");
    show.inherits = true;
    Command set = small_command("set");
    set.operands = {"SWITCH", "LID"};
    Command route = small_command("route");
    route.options.push_back({{"--json"}, "", ""});
    route.needs_command = true;
    route.commands = {show, set};
    Command all = small_command("softib");
    all.options.push_back({{"--version"}, "", ""});
    all.needs_command = true;
    all.commands = {up, down, exec, route};
    return all;
}

std::string stray(const std::vector<std::string>& words) {
    return find_stray_word(small_program(), words);
}

TEST(StrayWord, IsNoneWhereEachWordHasAPlace) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"up", "lab", "--hosts", "4", "-v"},
                                               {"up", "--hosts=4", "-n4", "-vn", "4"},
                                               {"up", "--delta", "-3", "--hosts", "-"},
                                               {"down", "a", "b", "c"},
                                               {"exec", "h0", "ls", "--color", "-la", "more"},
                                               {"route", "show", "--json"},
                                               {"route", "--json", "set", "sw0", "1"},
                                               {"up", "--frob", "--help"},
                                               {"--version"}}) {
        EXPECT_EQ(stray(words), "") << words.back();
    }
}

TEST(StrayWord, IsTheFirstThatWasTyped) {
    EXPECT_EQ(stray({"up", "--one", "--two"}),
              "softib up has no option --one; see: softib up --help");
    EXPECT_EQ(stray({"--one", "up", "--two"}), "softib has no option --one; see: softib help");
    EXPECT_EQ(stray({"exec", "--one", "h0", "--two"}),
              "softib exec has no option --one; see: softib exec --help");
}

TEST(StrayWord, IsNamedWithTheNearestThatExists) {
    EXPECT_EQ(stray({"up", "--hots=4"}),
              "softib up has no option --hots (did you mean --hosts?); see: softib up --help");
    EXPECT_EQ(stray({"up", "-hosts", "4"}),
              "softib up has no option -hosts (did you mean --hosts?); see: softib up --help");
    EXPECT_EQ(stray({"route", "sho"}),
              "softib route has no 'sho' (did you mean show?); see: softib route --help");
}

TEST(StrayWord, IsAnOptionOfTheCommandAboveUnlessItIsInherited) {
    EXPECT_EQ(stray({"route", "set", "--json", "sw0", "1"}),
              "softib route set has no option --json; see: softib route set --help");
}

TEST(StrayWord, IsAnOptionWhoseValueIsMissing) {
    EXPECT_EQ(stray({"up", "--hosts"}), "--hosts needs N behind it; see: softib up --help");
    EXPECT_EQ(stray({"up", "-vn"}), "--hosts needs N behind it; see: softib up --help");
    EXPECT_EQ(stray({"up", "--hosts", "--delta", "1"}),
              "--hosts needs N behind it, and --delta is an option; see: softib up --help");
}

TEST(StrayWord, IsAnOperandTooMany) {
    EXPECT_EQ(stray({"up", "a", "b", "c"}),
              "softib up takes only NAME: 'b' is one too many; see: softib up --help");
    EXPECT_EQ(stray({"route", "show", "sw0"}),
              "softib route show takes no operand: 'sw0'; see: softib route show --help");
}

TEST(StrayWord, IsAFlagWithAValueAndAnOptionWithAnEmptyOne) {
    EXPECT_EQ(stray({"up", "--verbose=false"}),
              "--verbose takes no value: leave out '=false'; see: softib up --help");
    EXPECT_EQ(stray({"up", "--hosts=", "4"}),
              "--hosts needs N behind the '='; see: softib up --help");
}

TEST(StrayWord, IsBehindDashesOfACommandThatRunsNoProgram) {
    const auto behind = [](const std::vector<std::string>& words,
                           const std::vector<std::string>& program_words) {
        return find_stray_word(small_program(), words, program_words);
    };
    EXPECT_EQ(behind({"down", "a"}, {"b"}),
              "softib down runs no other program: '-- b' has no place; see: softib down --help");
    EXPECT_EQ(behind({"route", "show"}, {}),
              "softib route show runs no other program: '--' has no place; see: softib route show "
              "--help");
    EXPECT_EQ(behind({"exec", "h0"}, {"ls", "-l"}), "");
    EXPECT_EQ(behind({"up", "--help"}, {"b"}), "");
}

TEST(StrayWord, SaysWhichActionsThereAreWhereOneIsNeeded) {
    EXPECT_EQ(stray({"route"}),
              "softib route needs an action: show, set; see: softib route --help");
    EXPECT_EQ(stray({}), "softib needs a command: up, down, exec, route; see: softib help");
}

}  // namespace
}  // namespace softib::app::complete
