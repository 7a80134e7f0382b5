// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// All that telemetry knows of a fabric at one moment. A snapshot never changes once it is made, so
// that threads can share it by pointer.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/outage.h"
#include "telemetry/rates.h"

namespace softib::telemetry {

struct Snapshot {
    std::uint64_t number = 0;    ///< Number of the reading, from 1; 0: there was none yet.
    std::uint64_t instance = 0;  ///< See Reading::instance.
    std::shared_ptr<const Inventory> inventory = std::make_shared<const Inventory>();
    Sample sample;
    std::vector<PortRate> rates;
    Outage outage;            ///< What is down, by its causes.
    double read_seconds = 0;  ///< How long reading took.
    /// Why the source could not be read; the other fields are then those of the last reading. Empty
    /// if it was read.
    std::string trouble;
};

}  // namespace softib::telemetry
