// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace softib::abi::rdmacm {

/// Writes, as text, the IPv4 address of the first port of the fabric's host with this name. Returns
/// false if there is no such host.
bool find_fabric_host(const char* name, char* out, std::size_t out_bytes);

}  // namespace softib::abi::rdmacm
