// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <expected>
#include <string>

#include "spec/description.h"

namespace softib::spec {

/// Returns the fabric with the trunks that its description asks for.
std::expected<topo::Fabric, std::string> with_trunks(topo::Fabric fabric,
                                                     const Description& description);

}  // namespace softib::spec
