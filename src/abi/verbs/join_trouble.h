// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace softib::abi {

/// Returns why a program could not join the fabric in `dir`, by the errno value of the attempt, and
/// what its user can do.
std::string join_trouble(const std::string& dir, int error);

}  // namespace softib::abi
