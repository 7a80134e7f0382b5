// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/topo/spec.h"
#include "plan/cluster/fabric.h"
#include "plan/cluster/presets.h"
#include "plan/cluster/prices.h"

namespace softib::plan {
namespace {

Cluster preset(std::string_view name) {
    const auto found = find_preset(name);
    EXPECT_TRUE(found) << found.error();
    return found.value_or(Cluster{});
}

TEST(Cluster, EveryPresetIsWholeAndItsFabricCanBeBuilt) {
    for (const Preset& each : presets()) {
        SCOPED_TRACE(each.name);
        const Cluster cluster = preset(each.name);
        EXPECT_EQ(find_fault(cluster), std::nullopt);
        EXPECT_FALSE(cluster.source.empty());
        const auto fabric = counted_plane(cluster);
        ASSERT_TRUE(fabric) << fabric.error().message;
        EXPECT_EQ(fabric->count(topo::NodeKind::kHca),
                  std::size_t{cluster.nodes()} * cluster.nics_per_node());
    }
}

TEST(Cluster, PresetsHaveTheGpusThatTheirSourcesSay) {
    EXPECT_EQ(preset("superpod-h100:4").gpus(), 1016U);
    EXPECT_EQ(preset("superpod-h100:64").gpus(), 16'384U);
    EXPECT_EQ(preset("meta-ib-24k").gpus(), 24'576U);
    EXPECT_EQ(preset("meta-roce-24k").gpus(), 24'576U);
    EXPECT_EQ(preset("ebay-h100").gpus(), 480U);
    EXPECT_EQ(preset("h800-2048").gpus(), 2048U);
    EXPECT_EQ(preset("nvl72-xdr:2").gpus(), 144U);
    EXPECT_EQ(preset("nvl72-xdr:2").domain_nodes(), 18U);
    EXPECT_EQ(preset("superpod-h100").domain_nodes(), 1U);
}

TEST(Cluster, AnUnknownPresetOrSizeNamesWhatThereIs) {
    EXPECT_EQ(find_preset("superpod-h10").error(),
              "unknown preset 'superpod-h10'; did you mean 'superpod-h100'?");
    EXPECT_NE(find_preset("frontier").error().find("the presets are superpod-h100"),
              std::string::npos);
    EXPECT_EQ(find_preset("superpod-h100:65").error(),
              "the size of preset superpod-h100 must be 1 to 64 (SUs), not '65'");
    EXPECT_FALSE(find_preset("superpod-h100:0"));
    EXPECT_EQ(find_gpu("h10").error(), "unknown GPU 'H10'; did you mean 'H100'?");
}

// The headers are those of an RC WRITE; for RoCEv2 preamble and gap between frames count too.
TEST(Cluster, WireEfficiencyIsThatOfTheHeaders) {
    EXPECT_NEAR(wire_efficiency(LinkLayer::kInfiniBand, 256), 0.908, 5e-4);
    EXPECT_NEAR(wire_efficiency(LinkLayer::kInfiniBand, 4096), 0.9937, 5e-5);
    EXPECT_NEAR(wire_efficiency(LinkLayer::kRoce, 256), 0.757, 5e-4);
    EXPECT_NEAR(wire_efficiency(LinkLayer::kRoce, 4096), 0.980, 5e-4);
}

TEST(Cluster, AGpuOfAnNdrNodeHasTheRateOfItsNic) {
    EXPECT_NEAR(preset("superpod-h100").fabric_bytes_per_gpu_s(), 50e9 * 0.9937, 1e7);
    EXPECT_NEAR(preset("nvl72-xdr").fabric_bytes_per_gpu_s(), 100e9 * 0.9937, 1e7);
}

TEST(Cluster, FaultsNameTheField) {
    Cluster cluster = preset("ebay-h100");
    cluster.nvlink.domain_gpus = 12;
    EXPECT_EQ(find_fault(cluster),
              "nvlink domain_gpus 12 must divide the 8 GPUs of a node or be a multiple of them");
    cluster.nvlink.domain_gpus = 8;
    cluster.nvlink.bytes_per_s = 0;
    EXPECT_EQ(find_fault(cluster),
              "an nvlink domain of several GPUs needs a rate: set gbs in [nvlink], or domain_gpus "
              "1");
    cluster.fabric.spec.hosts = 0;
    EXPECT_EQ(find_fault(cluster), "nodes must be more than 0");
}

TEST(Cluster, NodesOfOnePodDoNotMeetTheCores) {
    const Cluster pod = with_nodes(preset("meta-roce-24k"), 384);
    const auto fabric = topo::generate(pod.fabric.spec);
    ASSERT_TRUE(fabric) << fabric.error().message;
    for (const topo::Node& node : fabric->nodes) {
        EXPECT_LT(node.level, 2U);
    }
}

TEST(Cluster, PcieThatIsSlowerThanTheLinkIsNamedWithItsKey) {
    for (const Preset& preset : presets()) {
        for (const std::string& note : notes_of(*find_preset(preset.name))) {
            EXPECT_FALSE(note.contains("PCIe")) << preset.name;
        }
    }
    Cluster cluster = *find_preset("hgx-b200:4");
    cluster.fabric.spec.generation = topo::Generation::kXdr;
    const auto notes = notes_of(cluster);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(notes[0].contains("PCIe limits each NIC of hgx-b200:4 to 55.0 GB/s")) << notes[0];
    EXPECT_TRUE(notes[0].contains("the key gbs in [pcie]"));
    cluster.pcie.bytes_per_s = 110e9;
    EXPECT_TRUE(notes_of(cluster).empty());
}

TEST(Cluster, NodesThatCutAnNvlinkDomainAreNamedWithTheNearest) {
    const Cluster rack = *find_preset("nvl72-xdr:4");
    for (const std::uint32_t nodes : {1U, 17U, 18U, 36U, 72U}) {
        EXPECT_EQ(find_cut_domain(with_nodes(rack, nodes)), std::nullopt) << nodes;
    }
    const auto cut = find_cut_domain(with_nodes(rack, 20));
    ASSERT_TRUE(cut);
    EXPECT_TRUE(cut->ends_with("take 18 or 36 nodes")) << *cut;
}

TEST(Cluster, EthernetSwitchesDoNotAggregate) {
    Cluster cluster = *find_preset("hgx-h200:2");
    cluster.fabric.link_layer = LinkLayer::kRoce;
    ASSERT_TRUE(find_fault(cluster));
    EXPECT_TRUE(find_fault(cluster)->starts_with("Ethernet switches do not aggregate"));
    cluster.fabric.sharp = false;
    EXPECT_EQ(find_fault(cluster), std::nullopt);
}

TEST(Prices, ANodeCostsItsGpus) {
    const auto nodes_usd = [](const char* preset, const Prices& prices) {
        const Cluster cluster = *find_preset(preset);
        const auto report = topo::make_report(*topo::generate(cluster.fabric.spec));
        return make_bill(cluster, report, prices).nodes_usd;
    };
    const Range eight = nodes_usd("hgx-b200:4", default_prices());
    EXPECT_EQ(eight, (Range{32 * 45'000.0, 32 * 65'000.0})) << "4 nodes of 8 GPUs";
    const Range four = nodes_usd("nvl72-xdr:1", default_prices());
    EXPECT_EQ(four, (Range{72 * 41'700.0, 72 * 54'200.0})) << "18 nodes of 4 GPUs";
    // A price of a whole node replaces that of its GPUs.
    Prices own = default_prices();
    std::ranges::find(own, "node", &Price::name)->low = 100'000;
    std::ranges::find(own, "node", &Price::name)->high = 200'000;
    EXPECT_EQ(nodes_usd("nvl72-xdr:1", own), (Range{1.8e6, 3.6e6}));
}

TEST(Prices, RunningCostsAreCapitalEnergyAndHostingOrRent) {
    Bill bill;
    bill.nodes_usd = {3e6, 6e6};
    bill.network_usd = {1e6, 2e6};
    bill.nodes_w = {9e3, 18e3};
    bill.network_w = {1e3, 2e3};
    Prices prices{{"depreciation_years", 4, 5, ""},
                  {"energy_kwh", 0.1, 0.2, ""},
                  {"pue", 1, 1.5, ""},
                  {"hosting_kw_month", 100, 200, ""}};
    const double year = 365.25 * 86'400;
    const RunningCost cost = running_cost(bill, 64, prices);
    EXPECT_NEAR(cost.capital.low * year, 4e6 / 5, 1);
    EXPECT_NEAR(cost.capital.high * year, 8e6 / 4, 1);
    EXPECT_NEAR(cost.energy.low * 3600, 10 * 0.1, 1e-9);
    EXPECT_NEAR(cost.energy.high * 3600, 20 * 1.5 * 0.2, 1e-9);
    EXPECT_NEAR(cost.hosting.low * year, 10 * 100 * 12, 1e-6);
    EXPECT_NEAR(cost.all().high, cost.capital.high + cost.energy.high + cost.hosting.high, 1e-12);
    prices.push_back({"gpu_hour", 2, 3, ""});
    EXPECT_NEAR(running_cost(bill, 64, prices).all().low * 3600, 2 * 64, 1e-9);
}

TEST(Prices, AKindHasItsOwnPriceOrThatOfAll) {
    const Cluster cluster = *find_preset("hgx-b200:2");
    const auto fabric = topo::generate(cluster.fabric.spec);
    const auto nodes = [&](const Prices& prices) {
        return make_bill(cluster, topo::make_report(*fabric), prices).nodes_usd.low;
    };
    EXPECT_EQ(nodes({{"gpu", 10, 20, ""}, {"gpu_b200", 0, 0, ""}}), 160);
    EXPECT_EQ(nodes({{"gpu", 10, 20, ""}, {"gpu_b200", 30, 40, ""}}), 480);
    EXPECT_EQ(nodes({{"gpu", 10, 20, ""}, {"gpu_b200", 30, 40, ""}, {"node", 7, 8, ""}}), 14);
}

/// Returns 131,072 GPUs with NICs of 800 Gb/s in a tree of Ethernet switches of 51.2 Tb/s, which
/// have 64 ports of 800 Gb/s, or more that are slower.
Cluster large_cluster(std::uint32_t planes, std::uint32_t levels) {
    Cluster cluster = with_nodes(preset("meta-roce-24k:1"), 16'384);
    cluster.gpu = *find_gpu("B300");
    cluster.pcie = sold(cluster.gpu).pcie;
    cluster.fabric.spec = {.shape = topo::Shape::kFatTree,
                           .hosts = 16'384,
                           .hcas_per_host = 8,
                           .radix = 64,
                           .levels = levels,
                           .generation = topo::Generation::kXdr};
    return with_planes(cluster, planes);
}

/// The figures of arXiv 2605.04333 for 131,072 GPUs: two tiers of 8 planes of 100G need 2/3 of the
/// optics and 3/5 of the switches of three tiers, and the longest path has 3 switches, not 5. Three
/// tiers need two planes, since 64 ports reach 65,536 ends.
TEST(Planes, EightInTwoTiersNeedLessThanThreeTiers) {
    struct Size {
        double switches = 0;
        double cables = 0;
        std::uint32_t on_path = 0;
        Bill bill = {};
    };
    const auto size_of = [](const Cluster& cluster) {
        EXPECT_EQ(find_fault(cluster), std::nullopt);
        const auto fabric = counted_plane(cluster);
        EXPECT_TRUE(fabric) << fabric.error().message;
        const topo::Report report = topo::make_report(*fabric);
        Size size{.on_path = report.diameter + 1,
                  .bill = make_bill(cluster, report, default_prices())};
        for (const topo::LevelReport& level : report.levels) {
            EXPECT_EQ(level.ports, level.ports_used) << "every port is used";
            size.switches += static_cast<double>(level.switches) * cluster.fabric.planes;
        }
        for (const topo::CableReport& cable : report.cables) {
            size.cables += cable.count;
        }
        return size;
    };
    const Cluster eight = large_cluster(8, 2);
    EXPECT_EQ(eight.gpus(), 131'072U);
    EXPECT_EQ(eight.fabric.spec.radix, 512U);
    EXPECT_FALSE(counted_plane(large_cluster(1, 3))) << "64 ports reach 65,536 ends";
    const Size flat = size_of(eight);
    const Size deep = size_of(large_cluster(2, 3));
    EXPECT_EQ(flat.switches, 6144);
    EXPECT_EQ(flat.switches / deep.switches, 3.0 / 5);
    EXPECT_EQ(flat.cables / deep.cables, 2.0 / 3);
    EXPECT_EQ(flat.on_path, 3U);
    EXPECT_EQ(deep.on_path, 5U);
    EXPECT_LT(flat.bill.network_usd.high, deep.bill.network_usd.low * 2);
    EXPECT_LT(flat.bill.network_usd.low, deep.bill.network_usd.low);
    EXPECT_LT(flat.bill.network_w.high, deep.bill.network_w.high);
}

TEST(Planes, AFailedOneTakesItsPartOfTheRate) {
    Cluster cluster = with_planes(preset("hgx-b200:4"), 8);
    const double all = preset("hgx-b200:4").link_bytes_per_s();
    EXPECT_EQ(cluster.link_bytes_per_s(), all);
    cluster.fabric.failed_planes = 1;
    EXPECT_DOUBLE_EQ(cluster.link_bytes_per_s(), all * 7 / 8);
    cluster.fabric.failed_planes = 8;
    EXPECT_EQ(find_fault(cluster), "failed_planes must be less than planes, of which there are 8");
    cluster.fabric = {.failed_planes = 1};
    EXPECT_EQ(find_fault(preset("hgx-b200")), std::nullopt);
}

/// A port of InfiniBand has a number of 8 bits; Ethernet's switches have no such limit, but a model
/// of a network has smaller ones in their place.
TEST(Planes, SwitchesHaveAsManyMorePortsAsTheseAreSlower) {
    EXPECT_EQ(plane_of(preset("hgx-b200")).radix, 0U) << "the generator chooses";
    EXPECT_EQ(plane_of(with_planes(preset("hgx-b200"), 2)).radix, 128U);
    EXPECT_EQ(plane_of(with_planes(preset("hgx-b200"), 8)).radix, 254U);
    EXPECT_EQ(plane_of(large_cluster(8, 2)).radix, 512U);
    EXPECT_EQ(modelled_plane_of(large_cluster(8, 2)).radix, 254U);
    Cluster part = with_nodes(large_cluster(8, 2), 256);
    EXPECT_TRUE(modelled_plane(part));
    EXPECT_TRUE(notes_of(part).back().contains("timed with more switches, of 254 ports"));
    EXPECT_TRUE(notes_of(preset("gcp-a4")).empty());
}

}  // namespace
}  // namespace softib::plan
