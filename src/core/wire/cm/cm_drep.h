// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// DREP: the connection has ended (IBA vol. 1, 12.6.11).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct CmDrep {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    CommunicationId remote_communication_id = 0;
    std::array<std::uint8_t, 224> private_data{};

    static constexpr auto fields() {
        using T = CmDrep;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::remote_communication_id, "RemoteCommunicationID", 32, 32}.hex(),
            Field{&T::private_data, "PrivateData", 64, 8}.hex(),
        };
    }
    friend bool operator==(const CmDrep&, const CmDrep&) = default;
};
static_assert(layout_is_sound<CmDrep>());

}  // namespace softib::wire
