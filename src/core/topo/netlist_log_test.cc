// SPDX-License-Identifier: BSD-2-Clause
// Reads dumps in logs of terminals.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/topo/netlist.h"
#include "core/topo/test_netlists.h"

namespace softib::topo {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
        text.replace(at, what.size(), with);
    }
    return text;
}

/// Returns the text with its lines broken as a terminal with `columns` columns would break them.
std::string wrapped(const std::string& text, std::size_t columns) {
    std::string result;
    std::size_t column = 0;
    for (const char c : text) {
        if (c != '\n' && column == columns) {
            result += '\n';
            column = 0;
        }
        result += c;
        column = c == '\n' ? 0 : column + 1;
    }
    return result;
}

using Warnings = std::vector<std::string>;

TEST(NetlistLog, AWholeDumpWarnsOfNothing) {
    EXPECT_EQ(read_ok(kDump).warnings, Warnings{});
}

TEST(NetlistLog, SpeedsThatAreNotThereAreSaid) {
    EXPECT_EQ(read_ok(kHandWritten).warnings,
              Warnings{"net: 2 ends of cables without a speed: ibsim's default holds, 10 Gb/s (4x "
                       "SDR); write the speed behind each, as # 4xNDR, or speed= and extspeed= "
                       "above them"});
    // The remedies that it names.
    const Fabric fabric =
        read_ok("Switch 2 \"a\"\n[1] \"b\"[1] # 4xNDR\nHca 1 \"b\"\n[1] \"a\"[1] #4xNDR\n");
    EXPECT_EQ(fabric.warnings, Warnings{});
    EXPECT_EQ(fabric.nodes[0].ports[1].generation, Generation::kNdr);
    EXPECT_EQ(read_ok("speed=7\nextspeed=15\nSwitch 2 \"a\"\n[1] \"b\"[1]\nHca 1 \"b\"\n[1] "
                      "\"a\"[1]\n")
                  .warnings,
              Warnings{});
}

TEST(NetlistLog, TabsLostOrMadeSpacesChangeNothing) {
    const Fabric fabric = read_ok(kDump);
    for (const char* const instead : {"", " ", "        "}) {
        const Fabric log = read_ok(replaced(kDump, "\t", instead));
        expect_same_graph(log, fabric);
        EXPECT_EQ(log.warnings, Warnings{});
    }
}

TEST(NetlistLog, BannersAndPromptsAreLeftOutAndCounted) {
    const std::string log =
        "=~=~=~= PuTTY log 2025.03.03 12:06:05 =~=~=~=\r\n\r\r\n"
        "do not enter without permission\r\n"
        "[root@mgmt ~]# ibnetdiscover\r\n" +
        replaced(kDump, "\n", "\r\n") + "\rufm01 [ mgmt-ha-active ] (config) # ";
    const Fabric fabric = read_ok(log);
    expect_same_graph(fabric, read_ok(kDump));
    EXPECT_EQ(fabric.warnings,
              Warnings{"net: 4 lines were left out; the first, line 1 is no line of ibnetdiscover "
                       "or of an ibsim netlist: '=~=~=~= PuTTY log 2025.03.03 12:06:05 =~...'"});
}

TEST(NetlistLog, WhatAnotherProgramPrintedBetweenIsLeftOut) {
    const std::string log = replaced(kDump, "\nCa\t1 \"H-0c42a10300aa0010\"",
                                     "\nibwarn: [4711] mad_rpc: timed out\n"
                                     "Ca\t1 \"H-0c42a10300aa0010\"");
    const Fabric fabric = read_ok(log);
    expect_same_graph(fabric, read_ok(kDump));
    EXPECT_EQ(fabric.warnings,
              Warnings{"net: 1 line was left out; line 48 is no line of ibnetdiscover or of an "
                       "ibsim netlist: 'ibwarn: [4711] mad_rpc: timed out'"});
}

TEST(NetlistLog, PagersAndEscapeSequencesLeaveNoTrace) {
    const Fabric fabric =
        read_ok(replaced(kDump, "\n[3]\t", "\nlines 1-12 \r\x1b[K\x1b[1;32m[3]\x1b[m\t"));
    expect_same_graph(fabric, read_ok(kDump));
    EXPECT_EQ(fabric.warnings, Warnings{});
}

TEST(NetlistLog, WrappedLinesArePutTogether) {
    const Fabric fabric = read_ok(kDump);
    for (const std::size_t columns : {40U, 61U, 66U, 72U, 80U, 100U}) {
        SCOPED_TRACE(columns);
        const std::string log = wrapped(replaced(kDump, "\t", " "), columns);
        const Fabric again = read_ok(log);
        expect_same_graph(again, fabric);
        ASSERT_FALSE(again.warnings.empty());
        EXPECT_TRUE(again.warnings.back().ends_with("put to the one before, which was wrapped"));
    }
}

TEST(NetlistLog, ASpaceLostByWrappingIsPutBack) {
    const Fabric fabric = read_ok(replaced(kDump, " lid 1 4xHDR", " lid 1\n4xHDR"));
    expect_same_graph(fabric, read_ok(kDump));
    EXPECT_EQ(fabric.warnings,
              Warnings{"net: 1 line was put to the one before, which was wrapped"});
}

TEST(NetlistLog, ACommentBelowAPortOfAHandWrittenNetlistStaysOne) {
    const Fabric fabric = read_ok(
        "Switch 8 \"Left\"\n[1] \"Alice\"\n# \"Alice\" has lid 7 4xHDR since May\nHca 1 \"Alice\"\n"
        "[1] \"Left\"[1]\n");
    EXPECT_EQ(fabric.nodes[1].ports[1].generation, Generation::kSdr);
    EXPECT_EQ(fabric.warnings.size(), 1U) << "of the speed alone";
}

/// Reads dumps of real fabrics, which cannot be part of the repository.
TEST(NetlistLog, DumpsOfRealFabricsAreRead) {
    const char* const folder = std::getenv("SOFTIB_DUMPS");
    if (folder == nullptr) {
        GTEST_SKIP() << "SOFTIB_DUMPS names no folder with dumps of ibnetdiscover";
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        SCOPED_TRACE(entry.path());
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(in), {});
        const Fabric fabric = read_ok(text);
        const auto valid = validate(fabric);
        EXPECT_TRUE(valid) << valid.error().message;
        EXPECT_FALSE(fabric.hosts.empty());
        expect_same_graph(read_ok(write_ibnetdiscover(fabric)), fabric);
    }
}

}  // namespace
}  // namespace softib::topo
