// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The report on a topology (`softib topo --report`) as JSON.

#include <string>

#include "core/topo/report.h"

namespace softib::answer {

std::string report_json(const topo::Fabric& fabric, const topo::Report& report);

}  // namespace softib::answer
