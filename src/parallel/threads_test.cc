// SPDX-License-Identifier: BSD-2-Clause
#include "parallel/threads.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "core/topo/spec.h"
#include "parallel/test_cases.h"

namespace softib::parallel {
namespace {

using namespace test;

Outcome run(const Case& what, std::uint32_t parts) {
    auto fabric = topo::generate(what.spec);
    const auto routed = Routed::make(*std::move(fabric), what.engine, what.vls);
    EXPECT_TRUE(routed) << routed.error().message;
    const std::vector<std::uint32_t> part_of = net::assign_parts(routed->topology, parts);
    std::vector<std::unique_ptr<Piece>> pieces(parts);
    Meeting meeting(parts);
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t i = 0; i < parts; ++i) {
            threads.emplace_back([&, i] {
                pieces[i] = std::make_unique<Piece>(*routed, what, part_of, i);
                net::run_part(pieces[i]->network, pieces[i]->part, parts, meeting.seat(i));
            });
        }
    }
    Outcome outcome;
    for (const auto& piece : pieces) {
        add(*piece, outcome);
    }
    return outcome;
}

class Threads : public testing::TestWithParam<Case> {};

TEST_P(Threads, GiveTheResultOfOneToTheLastBit) {
    const Outcome one = run(GetParam(), 1);
    EXPECT_GT(one.delivered, 0U);
    EXPECT_EQ(one.lost != 0, GetParam().lost_ppm != 0);
    EXPECT_GT(one.waited, 0U) << "nobody ever waited for credits";
    for (const std::uint32_t parts : {2U, 3U, 4U}) {
        EXPECT_EQ(run(GetParam(), parts), one) << parts << " threads";
    }
}

INSTANTIATE_TEST_SUITE_P(Parallel, Threads, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace softib::parallel
