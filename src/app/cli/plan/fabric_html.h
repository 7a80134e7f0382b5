// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric with its load as a picture of a page: tiers of boxes, and bundles of cables by their
// load.

#include <string>

#include "plan/fabric_load.h"

namespace softib::app {

std::string fabric_picture(const plan::FabricLoad& load);

}  // namespace softib::app
