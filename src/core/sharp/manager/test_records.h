// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An SA (subnet administration) with the records of a routed fabric, for tests.

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "core/routing/engine.h"
#include "core/routing/test_graphs.h"
#include "core/sharp/manager/subnet_records.h"
#include "core/topo/spec.h"
#include "core/wire/sa/sa.h"

namespace softib::sharp {

class TestSa {
  public:
    explicit TestSa(const topo::Spec& spec) : fabric_(routing::make_fabric(spec)) { route(); }

    /// Routes the fabric as it is now, and makes its records.
    void route() {
        graph_ = routing::graph_from(fabric_);
        const auto routed = routing::route_with_updn(graph_, {});
        ASSERT_TRUE(routed) << routed.error().message;
        lfts_ = routed->lfts;
        records_ = {};
        for (const routing::Target& target : graph_.targets()) {
            add(target);
        }
        std::ranges::stable_sort(records_.nodes, {}, [](const wire::NodeRecord& node) {
            return node.node_info.node_type;
        });
    }

    /// Returns the whole answer to a question.
    std::vector<std::uint8_t> answer(const wire::MadBytes& question) const {
        const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(question));
        const auto block = wire::parse<wire::LinearForwardingTableRecord>(
                               wire::Sa<const std::uint8_t>(question)
                                   .data()
                                   .first<wire::LinearForwardingTableRecord::kBytes>())
                               .block_num;
        switch (static_cast<wire::SaAttribute>(header.attribute_id)) {
            case wire::SaAttribute::kNodeRecord:
                return table_of(question, std::span(records_.nodes));
            case wire::SaAttribute::kLinkRecord:
                return table_of(question, std::span(records_.links));
            case wire::SaAttribute::kLinearForwardingTableRecord: {
                std::vector<wire::LinearForwardingTableRecord> asked;
                std::ranges::copy_if(records_.tables, std::back_inserter(asked),
                                     [&](const auto& table) { return table.block_num == block; });
                return table_of(question,
                                std::span<const wire::LinearForwardingTableRecord>(asked));
            }
            default:
                return table_of(question, std::span<const wire::LinkRecord>());
        }
    }

    bool is_switch(Lid lid) const {
        const std::uint32_t index = graph_.target_of(lid);
        return index != routing::kNone && graph_.targets()[index].is_switch();
    }
    const SubnetRecords& records() const { return records_; }
    const routing::Graph& graph() const { return graph_; }
    const routing::Lfts& lfts() const { return lfts_; }
    topo::Fabric& fabric() { return fabric_; }

  private:
    Lid lid_of(std::uint32_t sw) const {
        for (const std::uint32_t index : graph_.targets(sw)) {
            if (graph_.targets()[index].is_switch()) {
                return graph_.targets()[index].lid;
            }
        }
        return {};
    }
    void add(const routing::Target& target) {
        wire::NodeRecord node{.lid = target.lid};
        node.node_info.node_type =
            target.is_switch() ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter;
        node.node_info.node_guid = target.is_switch() ? graph_.guid(target.at) : target.guid;
        node.node_info.port_guid = target.guid;
        records_.nodes.push_back(node);
        if (!target.is_switch()) {
            const Lid leaf = lid_of(target.at);
            records_.links.push_back({leaf, PortNum{target.port}, PortNum{1}, target.lid});
            records_.links.push_back({target.lid, PortNum{1}, PortNum{target.port}, leaf});
            return;
        }
        for (const routing::Link& link : graph_.links(target.at)) {
            records_.links.push_back(
                {target.lid, PortNum{link.port}, PortNum{link.peer_port}, lid_of(link.peer)});
        }
        for (std::uint32_t block = 0; block < lfts_.block_count(); ++block) {
            wire::LinearForwardingTableRecord table{.lid = target.lid,
                                                    .block_num = static_cast<std::uint16_t>(block)};
            std::ranges::copy(lfts_.block(target.at, block),
                              table.linear_forwarding_table.port.begin());
            records_.tables.push_back(table);
        }
    }
    template <wire::Attribute Record>
    static std::vector<std::uint8_t> table_of(const wire::MadBytes& question,
                                              std::span<const Record> records) {
        wire::MadBytes first = question;
        const wire::Mad<std::uint8_t> header(first);
        header.set_method(wire::response_to(header.method()));
        wire::Sa<std::uint8_t>(first).set_header(
            {.attribute_offset = wire::kSaAttributeOffset<Record>});
        std::vector<std::uint8_t> message(first.begin(), first.begin() + wire::kSaDataOffset);
        for (const Record& record : records) {
            const std::size_t at = message.size();
            message.resize(at + wire::kSaAttributeOffset<Record> * std::size_t{8});
            wire::emit(record, std::span(message).subspan(at));
        }
        return message;
    }

    topo::Fabric fabric_;
    routing::Graph graph_;
    routing::Lfts lfts_;
    SubnetRecords records_;
};

}  // namespace softib::sharp
