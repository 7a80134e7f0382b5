// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What training frameworks do unless they are told otherwise, and whose choice each field of a
// mapping is: the user's, the framework's or the planner's.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/train/mapping.h"

namespace softib::plan {

struct Framework {
    std::string_view name;
    std::string_view title;
    std::string_view source;        ///< The public document that says so.
    std::uint32_t zero;             ///< What replicas divide.
    std::uint32_t grad_bytes;       ///< Bytes of a gradient, except with fp16.
    std::uint32_t grad_bytes_fp16;  ///< Bytes of a gradient with fp16.
    std::uint32_t param_bytes_fp8;  ///< Bytes of a gathered parameter in recipes of 8 bits.
    TensorOverlap tp_overlap;
    bool sequence_parallel;
    bool overlap_dp;     ///< Whether gradients and parameters travel while layers compute.
    bool chunked_sends;  ///< Whether only stages in chunks compute while they send.
    bool interleaves;    ///< Whether its recipes cut stages into chunks.
};

std::span<const Framework> frameworks();
/// Returns the framework of this name. The error names the nearest one.
std::expected<const Framework*, std::string> find_framework(std::string_view name);

/// Sets the fields of a mapping that the framework chooses and none of the keys `given` sets.
void apply_framework(const Framework& framework, std::span<const std::string_view> given,
                     Mapping& mapping);

/// A field of a mapping, and whose choice it is.
struct Choice {
    std::string_view name;  ///< The key that says it: "grad_bytes".
    std::string what = {};  ///< For people: "gradients, as they are added up and sent".
    std::string value = {};
    std::string_view by = {};  ///< "user", "framework" or "planner".
};
/// Returns the choices of how a job computes and exchanges. `framework` may be null.
std::vector<Choice> choices_of(const Mapping& mapping, const Framework* framework,
                               std::span<const std::string_view> given);

}  // namespace softib::plan
