// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sends a manager's SMPs to the agent of a node before anything else happens, in no virtual time.

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/agent/node.h"
#include "core/base/check.h"
#include "core/sm/smp_client.h"
#include "core/wire/mad/mad.h"
#include "core/wire/sm/smp.h"

namespace softib::net {

/// Returns the data of the answer to a request that comes in at `port`. The agent must accept it.
inline std::array<std::uint8_t, wire::kSmpDataBytes> ask_agent(agent::Node& node, std::uint8_t port,
                                                               const sm::SmpRequest& request) {
    wire::MadBytes mad{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnLidRouted,
                  .method = request.method,
                  .transaction_id = 1,
                  .attribute_id = static_cast<std::uint16_t>(request.attribute),
                  .attribute_modifier = request.modifier}
        .emit(wire::Mad<std::uint8_t>(mad));
    std::ranges::copy(request.data, wire::Smp<std::uint8_t>(mad).data().begin());
    const auto answer = node.receive_smp(mad, port, 0);
    SOFTIB_CHECK(answer && wire::Smp<const std::uint8_t>(*answer).status() == 0);
    std::array<std::uint8_t, wire::kSmpDataBytes> data{};
    std::ranges::copy(wire::Smp<const std::uint8_t>(*answer).data(), data.begin());
    return data;
}

}  // namespace softib::net
