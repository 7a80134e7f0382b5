// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads everything that a node holds, as its subnet manager reads it. Tests compare it before and
// after something that must not change it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "core/agent/mesh.h"
#include "core/wire/cc/cc.h"
#include "core/wire/cc/congestion_key_info.h"
#include "core/wire/sm/smp.h"

namespace softib::sm {

/// The attributes of a node by attribute id and modifier, without those that the node refuses.
using NodeState = std::map<std::pair<std::uint16_t, std::uint32_t>, std::array<std::uint8_t, 192>>;

inline wire::MadBytes make_smp(wire::Method method, wire::SmAttribute attribute,
                               std::uint32_t modifier, std::uint64_t mkey) {
    wire::MadBytes mad{};
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kSubnLidRouted;
    header.method = method;
    header.attribute_id = static_cast<std::uint16_t>(attribute);
    header.attribute_modifier = modifier;
    header.emit(wire::Mad<std::uint8_t>(mad));
    wire::Smp<std::uint8_t>(mad).set_mkey(mkey);
    return mad;
}

inline wire::MadBytes make_cc(wire::Method method, wire::CcAttribute attribute,
                              std::uint32_t modifier, std::uint64_t cc_key) {
    wire::MadBytes mad{};
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kCongestion;
    header.class_version = wire::kCcClassVersion;
    header.method = method;
    header.attribute_id = static_cast<std::uint16_t>(attribute);
    header.attribute_modifier = modifier;
    header.emit(wire::Mad<std::uint8_t>(mad));
    wire::Cc<std::uint8_t>(mad).set_cc_key(cc_key);
    return mad;
}

/// Reads the state of a node, without the counters of violations and without values that change
/// with time alone.
inline NodeState read_state(agent::Node& node, std::uint64_t mkey, std::uint64_t cc_key,
                            std::uint64_t now_ns) {
    using id = wire::SmAttribute;
    NodeState state;
    const std::uint8_t in = node.is_switch() ? 0 : 1;
    const auto read = [&](id attribute, std::uint32_t modifier) {
        const auto answer =
            node.receive_smp(make_smp(wire::Method::kGet, attribute, modifier, mkey), in, now_ns);
        ASSERT_TRUE(answer) << "the key is another";
        if (wire::Smp<const std::uint8_t>(*answer).status() != wire::mad_status::kOk) {
            return;
        }
        auto& data = state[{static_cast<std::uint16_t>(attribute), modifier}];
        std::ranges::copy(wire::Smp<const std::uint8_t>(*answer).data(), data.begin());
        if (attribute == id::kPortInfo) {
            auto info = wire::parse<wire::PortInfo>(data);
            info.mkey_violations = info.pkey_violations = info.qkey_violations = 0;
            wire::emit(info, data);
        }
    };
    for (const id attribute :
         {id::kNodeDescription, id::kNodeInfo, id::kSwitchInfo, id::kLedInfo}) {
        read(attribute, 0);
    }
    for (std::uint32_t block = 0; block * agent::kGuidBlock < node.spec().guids; ++block) {
        read(id::kGuidInfo, block);
    }
    for (std::uint32_t port = in; port <= node.port_count(); ++port) {
        read(id::kPortInfo, port);
        for (std::uint32_t block = 0; block * agent::kPKeyBlock < node.spec().pkeys; ++block) {
            read(id::kPKeyTable, port << 16 | block);
        }
        for (std::uint32_t block = 1; block <= 4; ++block) {
            read(id::kVlArbitrationTable, block << 16 | port);
        }
        for (std::uint32_t from = in; from <= node.port_count(); ++from) {
            read(id::kSlToVlMappingTable, from << 8 | port);
        }
    }
    for (std::uint32_t block = 0; node.is_switch() && block < 0xC000 / agent::kLftBlock; ++block) {
        read(id::kLinearForwardingTable, block);
    }
    for (std::uint32_t block = 0; node.is_switch() && block < 0x200; ++block) {
        read(id::kMulticastForwardingTable, block);
    }
    using cc = wire::CcAttribute;
    for (const cc attribute :
         {cc::kCongestionKeyInfo, cc::kSwitchCongestionSetting, cc::kSwitchPortCongestionSetting,
          cc::kCaCongestionSetting, cc::kCongestionControlTable}) {
        for (const std::uint32_t block : {0U, 1U}) {
            const auto answer = node.receive_congestion(
                make_cc(wire::Method::kGet, attribute, block, cc_key), in, now_ns);
            if (!answer || wire::Mad<const std::uint8_t>(*answer).status() != 0) {
                continue;
            }
            auto& data = state[{static_cast<std::uint16_t>(0x2100 + unsigned(attribute)), block}];
            std::ranges::copy(wire::Cc<const std::uint8_t>(*answer).data(), data.begin());
            if (attribute == cc::kCongestionKeyInfo) {
                auto info = wire::parse<wire::CongestionKeyInfo>(data);
                info.cc_key_violations = 0;
                wire::emit(info, data);
            }
        }
    }
    return state;
}

}  // namespace softib::sm
