// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A MAD on its way, with the fields of its packet that decide where it goes and which queue pair
// accepts it.

#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/mad/mad.h"

namespace softib::mad {

inline constexpr Qpn kQpnSubnet{0};    ///< QP0, for SMPs.
inline constexpr Qpn kQpnServices{1};  ///< QP1, for GMPs.
/// The Q_Key of every QP1 (IBA vol. 1, 10.2.5).
inline constexpr QKey kQKeyServices{0x80010000};

struct Packet {
    wire::MadBytes mad{};
    Lid slid;
    Lid dlid;
    Qpn source;
    Qpn destination;
    QKey qkey;
    PKey pkey = kPKeyDefaultFull;
    std::uint8_t sl = 0;
};

}  // namespace softib::mad
