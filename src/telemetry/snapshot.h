// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// All that telemetry knows of a fabric at one moment. It is a value that is never changed once it
// is made: threads share it by pointer.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/rates.h"

namespace softib::telemetry {

struct Snapshot {
    std::uint64_t number = 0;    ///< Counts readings, from 1.
    std::uint64_t instance = 0;  ///< As Reading::instance.
    std::shared_ptr<const Inventory> inventory = std::make_shared<const Inventory>();
    Sample sample;
    std::vector<PortRate> rates;
    double read_seconds = 0;  ///< How long reading took.
    /// Why the source could not be read; the rest is then what it said last. Empty: it was read.
    std::string trouble;
};

}  // namespace softib::telemetry
