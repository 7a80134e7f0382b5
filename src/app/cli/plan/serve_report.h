// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What `softib plan serve` prints: text for a terminal or a pipe, and a page with pictures.
// answer/serve.h has the JSON.

#include <string>
#include <utility>
#include <vector>

#include "plan/serve/plan.h"

namespace softib::app::service {

std::string to_text(const plan::ServeAnswer& answer);
std::string to_html(const plan::ServeAnswer& answer);

/// Returns the parts of the time to the first token with their names, in their order.
std::vector<std::pair<std::string, double>> named_parts(const plan::FirstTokenParts& parts);
/// Returns the pools and the load in a line.
std::string describe(const plan::ServeAnswer& answer);
std::string time_text(double seconds);
std::string spread_text(const plan::Spread& spread);  ///< "31.2 ms (30.1 to 33.0)"
std::string part_text(double part);                   ///< "12.3 %"

}  // namespace softib::app::service
