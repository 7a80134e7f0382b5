// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// DREQ: asks to end the connection (IBA vol. 1, 12.6.10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct CmDreq {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    CommunicationId remote_communication_id = 0;
    Qpn remote_qpn_eecn{};
    std::array<std::uint8_t, 220> private_data{};

    static constexpr auto fields() {
        using T = CmDreq;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::remote_communication_id, "RemoteCommunicationID", 32, 32}.hex(),
            Field{&T::remote_qpn_eecn, "RemoteQPNEECN", 64, 24},
            Field{&T::private_data, "PrivateData", 96, 8}.hex(),
        };
    }
    friend bool operator==(const CmDreq&, const CmDreq&) = default;
};
static_assert(layout_is_sound<CmDreq>());

}  // namespace softib::wire
