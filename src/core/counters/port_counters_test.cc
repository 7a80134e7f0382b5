// SPDX-License-Identifier: BSD-2-Clause
// Facts about the list that the compiler does not check.
#include "core/counters/port_counters.h"

#include <gtest/gtest.h>

#include <set>

#include "core/wire/pm/port_counters.h"
#include "core/wire/pm/port_counters_extended.h"
#include "core/wire/pm/port_rcv_con_ctrl.h"
#include "core/wire/pm/port_rcv_error_details.h"
#include "core/wire/pm/port_xmit_con_ctrl.h"
#include "core/wire/pm/port_xmit_discard_details.h"

namespace softib::counters {
namespace {

using wire::PmAttribute;

template <typename T>
void add_names(std::set<std::pair<PmAttribute, std::string_view>>& all, PmAttribute attribute) {
    wire::kFields<T>.apply(
        [&](const auto&... field) { (all.emplace(attribute, field.name), ...); });
}

TEST(PortCounters, EveryRowNamesFieldsThatExist) {
    std::set<std::pair<PmAttribute, std::string_view>> exist;
    add_names<wire::PortCounters>(exist, PmAttribute::kPortCounters);
    add_names<wire::PortCountersExtended>(exist, PmAttribute::kPortCountersExtended);
    add_names<wire::PortXmitDiscardDetails>(exist, PmAttribute::kPortXmitDiscardDetails);
    add_names<wire::PortRcvErrorDetails>(exist, PmAttribute::kPortRcvErrorDetails);
    add_names<wire::PortRcvConCtrl>(exist, PmAttribute::kPortRcvConCtrl);
    add_names<wire::PortXmitConCtrl>(exist, PmAttribute::kPortXmitConCtrl);
    for (const auto& row : kPortCounters) {
        for (const AttributeField& field : row.fields) {
            EXPECT_TRUE(field.name.empty() || exist.erase({field.attribute, field.name}) == 1)
                << row.name << ": " << field.name;
        }
    }
    // The fields left are selectors, and discards that cannot happen since all ports have one MTU.
    for (const auto& [attribute, name] : exist) {
        EXPECT_TRUE(name == "PortSelect" || name == "CounterSelect" || name == "CounterSelect2" ||
                    name == "PortNeighborMTUDiscards")
            << name;
    }
}

TEST(PortCounters, NamesAndFilesAndSelectorsAreOneCountersOwn) {
    std::set<std::string_view> names;
    std::set<std::string_view> files;
    std::set<std::pair<PmAttribute, unsigned>> selectors;
    for (const auto& row : kPortCounters) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_TRUE(row.sysfs_file.empty() || files.insert(row.sysfs_file).second) << row.name;
        for (const AttributeField& field : row.fields) {
            EXPECT_TRUE(field.name.empty() ||
                        selectors.emplace(field.attribute, field.select).second)
                << row.name << ": " << field.name;
        }
    }
}

TEST(PortCounters, AUnicastPacketIsOneThatIsNoMulticast) {
    PortCounts counts;
    counts.xmit_packets = 10;
    counts.multicast_xmit_packets = 3;
    for (const auto& row : kPortCounters) {
        if (row.name == "unicast_xmit_packets") {
            EXPECT_EQ(value_of(row, counts), 7U);
        }
    }
}

}  // namespace
}  // namespace softib::counters
