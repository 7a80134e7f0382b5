// SPDX-License-Identifier: BSD-2-Clause
// Reading a damaged or hostile file gives either an error with a line number, or a fabric that
// keeps the invariants. The damage is random with a fixed seed, so that a failure can be repeated.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/topo/netlist.h"
#include "core/topo/spec.h"
#include "core/topo/test_netlists.h"

namespace softib::topo {
namespace {

std::vector<std::string> seeds() {
    const Fabric torus = generate({.shape = Shape::kTorus, .hosts = 4}).value();
    return {kDump, kHandWritten, write_ibnetdiscover(torus), write_ibsim(torus)};
}

std::size_t pick(Prng& prng, std::size_t bound) {
    return static_cast<std::size_t>(prng.below(bound));
}

/// Returns the start of the line that `at` is in, and the start of the next line.
std::pair<std::size_t, std::size_t> line_around(const std::string& text, std::size_t at) {
    const std::size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::size_t end = text.find('\n', at);
    return {start, end == std::string::npos ? text.size() : end + 1};
}

void mutate(std::string& text, Prng& prng) {
    if (text.empty()) {
        return;
    }
    const std::size_t at = pick(prng, text.size());
    const auto [start, end] = line_around(text, at);
    const std::string line = text.substr(start, end - start);
    switch (prng.below(9)) {
        case 0:
            text[at] = static_cast<char>(prng.below(256));
            break;
        case 1:
            text[at] = "0123456789[]()\"#@=+x \t\n"[prng.below(23)];
            break;
        case 2:
            text.erase(start, end - start);
            break;
        case 3:
            text.insert(start, line);
            break;
        case 4:
            text.insert(pick(prng, text.size()), line);
            break;
        case 5:
            text.resize(at);
            break;
        case 6:
            text.erase(at, 1 + pick(prng, 8));
            break;
        case 7:
            text.insert(at, 1 + pick(prng, 300), text[at]);
            break;
        default:
            text.insert(at, std::to_string(prng.next()));
            break;
    }
}

constexpr int kRounds = effort(4000, 1000);

TEST(HostileNetlist, MutationsGiveAnErrorOrAValidFabric) {
    Prng prng(20250303);
    int errors = 0;
    int fabrics = 0;
    for (int round = 0; round < kRounds; ++round) {
        for (std::string text : seeds()) {
            for (std::uint64_t n = 1 + prng.below(4); n > 0; --n) {
                mutate(text, prng);
            }
            const auto fabric = read_netlist(text, "net");
            if (!fabric) {
                ++errors;
                ASSERT_TRUE(fabric.error().message.starts_with("net:")) << fabric.error().message;
                ASSERT_LT(fabric.error().message.size(), 400U);
                continue;
            }
            ++fabrics;
            const auto valid = validate(*fabric);
            ASSERT_TRUE(valid) << valid.error().message << "\n" << text;
            const auto again = read_netlist(write_ibsim(*fabric), "again");
            ASSERT_TRUE(again) << again.error().message << "\n" << text;
            expect_same_graph(*again, *fabric);
            ASSERT_FALSE(HasFailure()) << text;
        }
    }
    EXPECT_GT(errors, kRounds);
    EXPECT_GT(fabrics, kRounds / 4);
}

TEST(HostileNetlist, RandomBytesGiveAnError) {
    Prng prng(7);
    for (int round = 0; round < 200; ++round) {
        std::string text(1 + pick(prng, 4000), '\0');
        for (char& c : text) {
            c = static_cast<char>(prng.below(256));
        }
        EXPECT_FALSE(read_netlist(text, "net"));
    }
}

TEST(HostileNetlist, LongLinesAndManyLines) {
    constexpr std::size_t kMany = std::size_t{1} << effort(23, 19);
    for (const std::string_view start :
         {"", "#", "\"", "Switch 8 \"", "Switch 8 \"a\" # \"", "Switch ", "vendid=", "[", "[1](",
          "Switch 8 \"a\"\n[1] \"a\"[2] ", "Switch 8 \"a\"\n[1] \"a\"[2] # \"", "module=\""}) {
        for (const char fill : {'a', '1', ' ', '"', '[', '(', '\n'}) {
            std::string text(start);
            text.append(kMany, fill);
            const auto fabric = read_netlist(text, "net");
            if (fabric) {
                EXPECT_TRUE(validate(*fabric));
            } else {
                EXPECT_LT(fabric.error().message.size(), 400U);
            }
        }
    }
}

TEST(HostileNetlist, ManyPortLinesForFewPorts) {
    std::string text = "Switch 2 \"a\"\n";
    for (int i = 0; i < 100000; ++i) {
        text += "[1] \"a\"[2]\n";
    }
    const auto fabric = read_netlist(text, "net");
    ASSERT_FALSE(fabric);
    EXPECT_EQ(fabric.error().message,
              "net:3: port 1 of \"a\" is already in line 2; a port has one cable");
}

TEST(HostileNetlist, LargeFabricsTakeLittleMoreThanTheirLines) {
    // Thousands of hosts of one name, HCAs of one host and switches of one name: code that compares
    // all pairs would take too long.
    std::string text;
    for (int i = 0; i < 15000; ++i) {
        text += "Ca 1 \"g" + std::to_string(i) + "\" # \"gateway\"\n";
        text += "Ca 1 \"h" + std::to_string(i) + "\" # \"localhost mlx5_0\"\n";
        text += "Switch 1 \"s" + std::to_string(i) + "\" # \"leaf\"\n";
    }
    const Fabric fabric = read_ok(text);
    EXPECT_EQ(fabric.hosts.size(), 15001U);
    EXPECT_EQ(fabric.hosts.back().name, "localhost-15000");
    const auto valid = validate(fabric);
    EXPECT_TRUE(valid) << valid.error().message;
}

}  // namespace
}  // namespace softib::topo
