// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "runtime/shm/types.h"

namespace softib::abi {

live::AddressVector to_live(const ibv_ah_attr& attr);
ibv_ah_attr from_live(const live::AddressVector& av, std::uint8_t port, std::uint8_t static_rate);

}  // namespace softib::abi
