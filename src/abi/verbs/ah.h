// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "runtime/shm/types.h"

namespace softib::abi {

// Conversions between the public form of an address and that of the runtime.
hca::AddressVector to_runtime(const ibv_ah_attr& attr);
ibv_ah_attr from_runtime(const hca::AddressVector& av, std::uint8_t port, std::uint8_t static_rate);

}  // namespace softib::abi
