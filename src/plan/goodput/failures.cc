// SPDX-License-Identifier: BSD-2-Clause
#include "plan/goodput/failures.h"

#include <array>

namespace softib::plan {

namespace {

constexpr std::array kOfNames{"gpu", "nic", "node", "job"};
constexpr std::array kLosesNames{"nothing", "node", "nic", "link"};

template <typename Value, std::size_t kCount>
std::optional<Value> find_name(const std::array<const char*, kCount>& names,
                               std::string_view text) {
    for (std::size_t i = 0; i < kCount; ++i) {
        if (text == names[i]) {
            return static_cast<Value>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

const char* to_string(FailureOf of) {
    return kOfNames[static_cast<std::size_t>(of)];
}

const char* to_string(Loses loses) {
    return kLosesNames[static_cast<std::size_t>(loses)];
}

std::optional<FailureOf> parse_failure_of(std::string_view text) {
    return find_name<FailureOf>(kOfNames, text);
}

std::optional<Loses> parse_loses(std::string_view text) {
    return find_name<Loses>(kLosesNames, text);
}

}  // namespace softib::plan
