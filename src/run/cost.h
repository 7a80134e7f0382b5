// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a simulation would take, known before it begins: so that a run of hours, or one that needs
// more memory than there is, can be refused at once.

#include <cstdint>
#include <string>

#include "spec/scenario/scenario.h"

namespace softib::run {

/// A rough estimate, within a factor of two or three.
struct Cost {
    double bytes = 0;  ///< The memory.
    /// The processor time, on a core as that of docs/performance-sim.md; 0: not known, as for the
    /// flow model.
    double seconds = 0;
};

/// Returns what one simulation takes: by the numbers of messages, of packets on cables, of ports
/// and of entries of forwarding tables.
Cost cost_of(const spec::Scenario& scenario, const spec::Experiment& experiment);

/// Returns whether programs can have that much memory now, as far as the kernel says.
bool fits_memory(const Cost& cost);
/// Returns the error for a run that does not fit, where nobody can be asked whether to go on.
std::string too_large(const Cost& cost);

/// Returns "84 GiB and about 3 hours".
std::string to_text(const Cost& cost);

}  // namespace softib::run
