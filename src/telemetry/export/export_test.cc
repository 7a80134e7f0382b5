// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "telemetry/export/csv.h"
#include "telemetry/export/metrics.h"
#include "telemetry/export/sysfs_files.h"
#include "telemetry/test_fabric.h"

namespace softib::telemetry {
namespace {

class Export : public testing::Test {
  protected:
    Export() {
        snapshot_.sample.counts[3].xmit_words = 250;
        snapshot_.sample.counts[3].symbol_errors = 3;
    }
    bool has(const std::string& text, const std::string& line) const {
        return text.find(line + "\n") != std::string::npos;
    }

    std::shared_ptr<const Inventory> inventory_ =
        std::make_shared<const Inventory>(test_inventory());
    Snapshot snapshot_ = test_snapshot(1, 0, inventory_);
};

TEST_F(Export, MetricsByNodeHaveGuidAndPort) {
    const std::string text = metrics_text(snapshot_, {});
    EXPECT_TRUE(has(text,
                    "infiniband_switch_port_transmit_data_bytes_total{guid=\""
                    "0x0000000000000030\",port=\"2\"} 1000"));
    EXPECT_TRUE(has(text,
                    "infiniband_switch_port_symbol_error_total{guid=\"0x0000000000000030\","
                    "port=\"2\"} 3"));
    EXPECT_TRUE(has(text,
                    "infiniband_hca_info{guid=\"0x0000000000000010\",hca=\"h0 mlx5_0\","
                    "lid=\"1\"} 1"));
    EXPECT_EQ(text.find("infiniband_portxmitdata_total"), std::string::npos);
}

TEST_F(Export, MetricsByCableHaveBothEnds) {
    const std::string text = metrics_text(snapshot_, {.by_node = false, .by_cable = true});
    EXPECT_TRUE(has(text,
                    "infiniband_portxmitdata_total{component=\"switch\",local_name=\"sw0\","
                    "local_guid=\"0x30\",local_port=\"2\",remote_guid=\""
                    "0x0000000000000020\",remote_port=\"1\",remote_name=\"h1 mlx5_0\"} 250"));
    EXPECT_NE(text.find("remote_name=\"h1 mlx5_0\"} 106.25\n"), std::string::npos)
        << "a lane of NDR";
    EXPECT_TRUE(has(text, "infiniband_scrape_ok 1"));
    EXPECT_EQ(text.find("infiniband_switch_port"), std::string::npos);
}

TEST_F(Export, PortsWithoutErrorsSayZeroInASmallFabric) {
    EXPECT_TRUE(has(metrics_text(snapshot_, {}),
                    "infiniband_switch_port_symbol_error_total{guid=\"0x0000000000000030\","
                    "port=\"1\"} 0"));
}

TEST_F(Export, CountersBringTheirTimeWhereItIsNotThatOfTheQuestion) {
    const std::string text = metrics_text(snapshot_, {.timestamps = true});
    EXPECT_TRUE(has(text,
                    "infiniband_switch_port_transmit_data_bytes_total{guid=\""
                    "0x0000000000000030\",port=\"2\"} 1000 1700000000000"));
    EXPECT_TRUE(has(text, "softib_telemetry_up 1"));
}

/// A snapshot of a switch with more ports than kFewPorts. Ports 0 and 1 are those of HCAs.
class LargeExport : public Export {
  protected:
    LargeExport() {
        auto large = std::make_shared<Inventory>(*inventory_);
        large->nodes[2].port_count = kFewPorts + 1;
        for (std::size_t i = large->ports.size(); i < kFewPorts + 3; ++i) {
            large->ports.push_back(large->ports[3]);
        }
        large->ports[4].peer = 5;  // A cable from the switch to itself.
        large->ports[5].peer = 4;
        snapshot_ = test_snapshot(1, 0, large);
        snapshot_.sample.counts[2].xmit_packets = 7;
    }
    std::string by_cable(CounterChoice choice = CounterChoice::kBySize) const {
        return metrics_text(snapshot_, {.by_node = false, .by_cable = true, .counters = choice});
    }
    static std::size_t series(const std::string& text, const std::string& begin) {
        std::size_t found = 0;
        for (std::size_t at = text.find("\n" + begin); at != std::string::npos;
             at = text.find("\n" + begin, at + 1)) {
            ++found;
        }
        return found;
    }
};

TEST_F(LargeExport, NamesByNodeLeaveOutWhatIsZeroOrCanBeComputed) {
    const std::string text = metrics_text(snapshot_, {});
    EXPECT_EQ(text.find("symbol_error_total{"), std::string::npos);
    EXPECT_EQ(text.find("unicast_transmit_packets_total"), std::string::npos);
    EXPECT_EQ(series(text, "infiniband_switch_port_transmit_packets_total{"), kFewPorts + 1);
    EXPECT_EQ(series(text, "infiniband_switch_port_transmit_wait_total{"), kFewPorts + 1);
    const std::string all = metrics_text(snapshot_, {.counters = CounterChoice::kAll});
    EXPECT_NE(all.find("symbol_error_total{"), std::string::npos);
    EXPECT_NE(all.find("unicast_transmit_packets_total{"), std::string::npos);
}

TEST_F(LargeExport, NamesByCableTellOfSwitchPortsAndOfWhateverIsNotZero) {
    snapshot_.sample.counts[0].symbol_errors = 3;
    snapshot_.sample.counts[1].xmit_wait = 9;
    const std::string text = by_cable();
    for (const char* const metric : {"portxmitdata_total", "portrcvdata_total", "speed", "width"}) {
        const std::string name = std::string("infiniband_") + metric;
        const std::size_t told_once = name.ends_with("_total") ? 0 : 1;  // For one of 4 and 5.
        EXPECT_EQ(series(text, name + "{component=\"switch\""), kFewPorts + 1 - told_once)
            << metric;
        EXPECT_EQ(series(text, name + "{component=\"ca\""), 0) << metric;
    }
    EXPECT_EQ(series(text, "infiniband_portxmitpkts_total"), 0);
    EXPECT_EQ(series(text, "infiniband_portxmitwait_total{component=\"ca\""), 1);
    EXPECT_EQ(series(text, "infiniband_portxmitwait_total{"), 1);
    EXPECT_EQ(series(text, "infiniband_symbolerrorcounter_total{component=\"ca\""), 1);
    EXPECT_EQ(series(text, "infiniband_symbolerrorcounter_total{"), 1);
}

TEST_F(LargeExport, MoreIsToldByNamesOfCablesToWhoAsks) {
    const std::string traffic = by_cable(CounterChoice::kTraffic);
    for (const char* const metric :
         {"portxmitdata_total", "portxmitpkts_total", "portxmitwait_total", "speed"}) {
        EXPECT_EQ(series(traffic, std::string("infiniband_") + metric + "{"), kFewPorts + 3)
            << metric;
    }
    EXPECT_EQ(series(traffic, "infiniband_symbolerrorcounter_total{"), 0);
    const std::string all = by_cable(CounterChoice::kAll);
    EXPECT_EQ(series(all, "infiniband_symbolerrorcounter_total{"), kFewPorts + 3);
    EXPECT_EQ(series(all, "infiniband_portunicastxmitpkts_total{"), kFewPorts + 3);
}

TEST_F(Export, ChoicesOfCountersHaveNames) {
    EXPECT_EQ(counter_choice("brief"), CounterChoice::kBrief);
    EXPECT_EQ(counter_choice("traffic"), CounterChoice::kTraffic);
    EXPECT_EQ(counter_choice("all"), CounterChoice::kAll);
    EXPECT_EQ(counter_choice("some"), std::nullopt);
}

TEST_F(Export, NamesOfStrangersAreEscaped) {
    EXPECT_EQ(escape_label("a\"b\\c\nd\x01"), "a\\\"b\\\\c\\nd?");
}

TEST_F(Export, NodesThatDoNotAnswerAreNamed) {
    snapshot_.sample.silent = {"sw9"};
    EXPECT_TRUE(has(metrics_text(snapshot_, {}), "softib_telemetry_node_silent{node=\"sw9\"} 1"));
}

TEST_F(Export, CsvHasALinePerPort) {
    const auto text = csv_text(snapshot_, {});
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->starts_with("timestamp,source_id,tag,Node_GUID,port_guid,Port_Number,"));
    EXPECT_NE(text->find(",PortXmitDataExtended,"), std::string::npos);
    EXPECT_NE(text->find(",LinkDownedCounterExtended,"), std::string::npos);
    EXPECT_EQ(std::ranges::count(*text, '\n'), 5);
    EXPECT_FALSE(csv_text(snapshot_, {.set = "other"}));
    EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
}

TEST_F(Export, SysfsFilesAreWrittenOverTheOldOnes) {
    const std::string dir = testing::TempDir() + "softib-sysfs-" + std::to_string(getpid());
    ASSERT_TRUE(write_sysfs(snapshot_, dir));
    snapshot_.sample.counts[3].xmit_words = 5;
    ASSERT_TRUE(write_sysfs(snapshot_, dir));
    std::ifstream in(dir + "/class/infiniband/sw0/ports/2/counters/port_xmit_data");
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, "5");
    EXPECT_TRUE(std::filesystem::exists(dir + "/class/infiniband/h0_mlx5_0/fw_ver"));
    std::filesystem::remove_all(dir);
    EXPECT_FALSE(write_sysfs(snapshot_, "/proc/nowhere"));
}

}  // namespace
}  // namespace softib::telemetry
