// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/test_fabric.h"

namespace softib::topo {
namespace {

std::size_t count_of(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

TEST(RenderTree, SmallFatTree) {
    EXPECT_EQ(render_tree(make({.shape = Shape::kFatTree, .hosts = 4}), {}),
              "default (fat-tree): 4 hosts, 4 HCAs, 4 switches, 8 cables, 400 Gb/s NDR\n"
              "\n"
              "level 1 (2 switches)\n"
              "├─ spine0  down: leaf0, leaf1  400 Gb/s NDR\n"
              "└─ spine1  down: leaf0, leaf1  400 Gb/s NDR\n"
              "\n"
              "level 0 (2 switches)\n"
              "├─ leaf0  up: spine0, spine1  400 Gb/s NDR\n"
              "│  ├─ 1 h0/mlx5_0  400 Gb/s NDR\n"
              "│  └─ 2 h1/mlx5_0  400 Gb/s NDR\n"
              "└─ leaf1  up: spine0, spine1  400 Gb/s NDR\n"
              "   ├─ 1 h2/mlx5_0  400 Gb/s NDR\n"
              "   └─ 2 h3/mlx5_0  400 Gb/s NDR\n");
}

TEST(RenderTree, RoutersWidthsAndMixedSpeeds) {
    Fabric fabric = make({.hosts = 2});
    fabric.nodes[1].kind = NodeKind::kRouter;
    fabric.nodes[1].name = "router";
    fabric.hosts.pop_back();
    for (PortLink* const link : {&fabric.nodes[1].ports[1], &fabric.nodes[2].ports[2]}) {
        link->generation = Generation::kSdr;
        link->width = Width::k1x;
    }
    EXPECT_EQ(render_tree(fabric, {}),
              "default (single-switch): 1 host, 1 HCA, 1 switch, 1 router, 2 cables, "
              "2.5 Gb/s 1x SDR, 400 Gb/s NDR\n"
              "\n"
              "└─ sw0\n"
              "   ├─ 1 h0/mlx5_0  400 Gb/s NDR\n"
              "   └─ 2 router  2.5 Gb/s 1x SDR\n");
    EXPECT_NE(render_dot(fabric).find("\"sw0\" -- \"router\""), std::string::npos);
    EXPECT_NE(render_svg(fabric).find("</svg>"), std::string::npos) << "a router has no host";
}

TEST(RenderTree, AsciiHasNoOtherBytes) {
    const std::string text = render_tree(
        make({.shape = Shape::kFatTree, .hosts = 500, .hcas_per_host = 2}), {.unicode = false});
    EXPECT_TRUE(
        std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; }));
    EXPECT_NE(text.find("|- leaf0  up: spine0 x"), std::string::npos);
}

TEST(RenderTree, LongListsAreFolded) {
    const std::string text =
        render_tree(make({.name = "big", .hosts = 40, .generation = Generation::kEdr}),
                    {.hosts_max_per_switch = 2});
    EXPECT_EQ(text,
              "big (single-switch): 40 hosts, 40 HCAs, 1 switch, 40 cables, 100 Gb/s EDR\n"
              "\n"
              "└─ sw0\n"
              "   ├─ 1 h0/mlx5_0  100 Gb/s EDR\n"
              "   ├─ 2 h1/mlx5_0  100 Gb/s EDR\n"
              "   └─ … and 38 more HCAs\n");
}

TEST(RenderTree, SwitchesOfALevelAreFolded) {
    const std::string text =
        render_tree(make({.shape = Shape::kTorus, .hosts = 9}), {.switches_max_per_level = 2});
    EXPECT_NE(text.find("sw0_1"), std::string::npos);
    EXPECT_NE(text.find("└─ … and 7 more switches\n"), std::string::npos);
}

TEST(RenderTree, ColourIsOptional) {
    const Fabric fabric = make({});
    EXPECT_EQ(render_tree(fabric, {}).find('\033'), std::string::npos);
    EXPECT_NE(render_tree(fabric, {.colour = true}).find("\033[1msw0\033[0m"), std::string::npos);
}

TEST(RenderDot, SmallFatTree) {
    EXPECT_EQ(
        render_dot(make({.name = "a \"b\"", .shape = Shape::kFatTree, .hosts = 2})),
        "graph \"a \\\"b\\\"\" {\n"
        "  graph [label=\"a \\\"b\\\": 2 hosts, 2 HCAs, 3 switches, 4 cables, 400 Gb/s NDR\", "
        "labelloc=t, fontname=\"sans-serif\", rankdir=TB, ranksep=1.2];\n"
        "  node [fontname=\"sans-serif\", style=filled];\n"
        "  edge [fontname=\"sans-serif\", fontsize=9];\n"
        "  {\n"
        "    rank=same;\n"
        "    node [shape=box, fillcolor=\"#cfe3ff\"];\n"
        "    \"spine0\";\n"
        "  }\n"
        "  {\n"
        "    rank=same;\n"
        "    node [shape=box, fillcolor=\"#cfe3ff\"];\n"
        "    \"leaf0\";\n"
        "    \"leaf1\";\n"
        "  }\n"
        "  node [shape=ellipse, fillcolor=\"#d8f5df\"];\n"
        "  \"h0/mlx5_0\";\n"
        "  \"h1/mlx5_0\";\n"
        "  \"leaf0\" -- \"h0/mlx5_0\" [label=\"400G\"];\n"
        "  \"spine0\" -- \"leaf0\" [label=\"400G\", penwidth=1];\n"
        "  \"leaf1\" -- \"h1/mlx5_0\" [label=\"400G\"];\n"
        "  \"spine0\" -- \"leaf1\" [label=\"400G\", penwidth=1];\n"
        "}\n");
}

TEST(RenderDot, EveryPairOfNeighboursIsOneEdge) {
    const Fabric fabric =
        make({.shape = Shape::kFatTree, .hosts = 8, .hcas_per_host = 2, .radix = 8});
    const std::string text = render_dot(fabric);
    EXPECT_EQ(count_of(text, " -- "), 16U + 4 * 2);
    EXPECT_EQ(count_of(text, "2x400G"), 8U);
    EXPECT_EQ(count_of(text, "subgraph \"cluster_"), 8U);
}

bool needs_rails(Shape shape) {
    return shape == Shape::kRailOptimized || shape == Shape::kRailOnly || shape == Shape::kSuperPod;
}

class RenderSvg : public testing::TestWithParam<Shape> {};

TEST_P(RenderSvg, ElementsAreBalancedAndTheFileStaysSmall) {
    for (const std::uint32_t hosts : {1U, 2U, 30U, 200U, 1000U, 5000U}) {
        if (GetParam() == Shape::kSingleSwitch && hosts > 254) {
            continue;
        }
        const std::string text =
            render_svg(make({.shape = GetParam(),
                             .hosts = hosts,
                             .hcas_per_host = needs_rails(GetParam()) ? 2U : 1U}));
        EXPECT_EQ(text.rfind("<svg xmlns=", 0), 0U);
        EXPECT_TRUE(text.ends_with("</svg>\n"));
        for (const char* element : {"g", "text", "title", "style"}) {
            const std::string open = std::string("<") + element;
            EXPECT_EQ(count_of(text, open + ">") + count_of(text, open + " "),
                      count_of(text, std::string("</") + element + ">"))
                << element;
        }
        EXPECT_EQ(text.find("nan"), std::string::npos);
        EXPECT_EQ(text.find("inf"), std::string::npos);
        EXPECT_LT(text.size(), 200'000U) << hosts;
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RenderSvg, testing::ValuesIn(kShapes));

TEST(RenderSvg, TextIsEscaped) {
    const std::string text = render_svg(make({.name = "a<b>&\"c\""}));
    EXPECT_NE(text.find("a&lt;b&gt;&amp;&quot;c&quot;"), std::string::npos);
    EXPECT_EQ(text.find("a<b"), std::string::npos);
}

TEST(RenderSvg, SmallFabricsShowEveryHca) {
    const std::string text = render_svg(make({.shape = Shape::kFatTree, .hosts = 100}));
    EXPECT_NE(text.find(">h99/mlx5_0<"), std::string::npos);
}

TEST(RenderSvg, LargeFabricsCountHcas) {
    const std::string text = render_svg(make({.shape = Shape::kFatTree, .hosts = 1000}));
    EXPECT_NE(text.find(" HCAs<"), std::string::npos);
    EXPECT_NE(text.find("leaf0 … leaf"), std::string::npos);
}

TEST(RenderSvg, FabricOfNoGeneratorIsDrawnByLevel) {
    Fabric fabric = make({.shape = Shape::kTorus, .hosts = 4});
    fabric.shape.reset();
    EXPECT_NE(render_svg(fabric).find(">sw1_1<"), std::string::npos);
    EXPECT_TRUE(render_svg(Fabric{}).ends_with("</svg>\n"));
}

}  // namespace
}  // namespace softib::topo
