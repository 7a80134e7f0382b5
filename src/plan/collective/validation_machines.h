// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Rows of docs/validation.md that were measured on machines: MPI on hosts, NCCL in clouds.

#include <vector>

#include "plan/validation.h"

namespace softib::plan {

/// Adds the rows that were measured on machines to `rows`.
void add_machine_rows(std::vector<ValidationRow>& rows);

}  // namespace softib::plan
