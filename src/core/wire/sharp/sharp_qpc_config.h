// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpQpcConfig: the context of one queue pair of an aggregation node, with the address of its
// other end.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpQpcConfig {
    static constexpr std::size_t kBytes = 64;

    enum class State : std::uint8_t { kDisabled = 0, kActive = 1, kError = 2 };
    enum class Transport : std::uint8_t { kRc = 0, kUd = 3 };

    Qpn qpn{};
    State state{};
    std::uint8_t mtu = 0;
    bool grh = false;
    Transport transport{};
    Lid rlid{};
    std::uint8_t sl = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    Gid rgid{};
    Psn rq_psn{};
    Psn sq_psn{};
    PKey pkey{};
    std::uint8_t port = 0;  ///< The node's port towards the other end.
    Qpn rqpn{};
    QKey qkey{};
    std::uint8_t rnr_retry = 0;
    std::uint8_t rnr_mode = 0;
    std::uint8_t retry = 0;
    std::uint8_t ack_timeout = 0;

    static constexpr auto fields() {
        using T = SharpQpcConfig;
        return Fields{
            Field{&T::qpn, "QPN", sharp_bit(0, 23), 24},
            Field{&T::state, "State", sharp_bit(0, 31), 4},
            Field{&T::mtu, "MTU", sharp_bit(2, 3), 4},
            Field{&T::grh, "GRH", sharp_bit(2, 16), 1},
            Field{&T::transport, "Transport", sharp_bit(2, 27), 4},
            Field{&T::rlid, "RLID", sharp_bit(3, 15), 16},
            Field{&T::sl, "SL", sharp_bit(3, 23), 4},
            Field{&T::hop_limit, "HopLimit", sharp_bit(4, 7), 8},
            Field{&T::traffic_class, "TClass", sharp_bit(4, 15), 8},
            Field{&T::rgid, "RGID", sharp_bit(5, 31), 128},
            Field{&T::rq_psn, "RQPSN", sharp_bit(9, 23), 24},
            Field{&T::sq_psn, "SQPSN", sharp_bit(10, 23), 24},
            Field{&T::pkey, "P_Key", sharp_bit(11, 15), 16},
            Field{&T::port, "Port", sharp_bit(11, 23), 8},
            Field{&T::rqpn, "RQPN", sharp_bit(12, 23), 24},
            Field{&T::qkey, "Q_Key", sharp_bit(13, 31), 32},
            Field{&T::rnr_retry, "RNRRetry", sharp_bit(14, 7), 8},
            Field{&T::rnr_mode, "RNRMode", sharp_bit(14, 29), 2},
            Field{&T::retry, "Retry", sharp_bit(15, 7), 8},
            Field{&T::ack_timeout, "AckTimeout", sharp_bit(15, 23), 8},
        };
    }
    friend bool operator==(const SharpQpcConfig&, const SharpQpcConfig&) = default;
};
static_assert(layout_is_sound<SharpQpcConfig>());

}  // namespace softib::wire
