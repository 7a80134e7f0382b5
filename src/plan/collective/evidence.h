// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the time of a collective operation is worth: the published measurements that are nearest to
// it, by the rows of docs/validation.md, and the assumptions of the model.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/collective/collective.h"
#include "plan/collective/collective_model.h"

namespace softib::plan {

/// A set of rows of docs/validation.md that share an id.
struct Evidence {
    const char* id;  ///< ValidationRow::id.
    Stack stack;
    Op op;
    Algorithm algorithm;
    std::uint32_t domains_min;  ///< Fewest NVLink domains that were measured, or hosts of an MPI.
    std::uint32_t domains_max;
    std::uint64_t bytes_min;
    std::uint64_t bytes_max;
    const char* machine;
};
std::span<const Evidence> all_evidence();

/// An operation that was timed.
struct Question {
    Stack stack = Stack::kNccl;
    Op op = Op::kAllReduce;
    Algorithm algorithm = Algorithm::kRing;
    std::uint32_t domains = 1;
    std::uint64_t bytes = 0;
};

/// Returns the ids of the nearest rows: those of the same stack, operation and algorithm.
std::vector<std::string> nearest_rows(const Question& question);
/// Returns a sentence that names the nearest rows, and whether the questions, all of one algorithm,
/// are within what was measured; or one that says that nothing validates the answer.
std::string show_evidence(std::span<const Question> questions);

/// Returns the assumptions of the model, as sentences.
std::vector<std::string> assumptions_of(Stack stack, net::ModelKind model);

}  // namespace softib::plan
