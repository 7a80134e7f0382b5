// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace softib::abi::rdmacm {

/// The IPv4 address, as text, of a fabric's host with this name: of its first port. False: there
/// is none.
bool find_fabric_host(const char* name, char* out, std::size_t out_bytes);

}  // namespace softib::abi::rdmacm
