// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace softib::mad {

/// RespTimeValue of our agents: they answer within 4.096 us * 2^16, about a quarter of a second.
inline constexpr std::uint8_t kRespTimeValue = 16;

}  // namespace softib::mad
