// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/program.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/sharp/reduce.h"

namespace softib::sharp {

std::size_t stack_depth(std::span<const Step> steps, std::uint32_t members) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    for (const Step& step : steps) {
        switch (step.kind) {
            case Step::kPush:
                ++depth;
                break;
            case Step::kAdd:
                if (depth == 0) {
                    return 0;
                }
                break;
            case Step::kFold:
                if (depth < 2) {
                    return 0;
                }
                --depth;
                break;
            default:
                return 0;
        }
        if (step.kind != Step::kFold && step.member >= members) {
            return 0;
        }
        deepest = std::max(deepest, depth);
    }
    return depth == 1 ? deepest : 0;
}

void execute(std::span<const Step> steps, const Reduction& reduction,
             std::span<const std::byte* const> contributions, std::span<std::byte> result,
             std::span<std::byte> scratch) {
    const std::size_t bytes = result.size();
    SOFTIB_CHECK(bytes % reduction.element_bytes() == 0);
    const Reducer reduce = reducer_of(reduction);
    const auto vector = [&](std::size_t level) {
        return level == 0 ? result : scratch.subspan((level - 1) * bytes, bytes);
    };
    std::size_t depth = 0;
    for (const Step& step : steps) {
        switch (step.kind) {
            case Step::kPush:
                std::memcpy(vector(depth).data(), contributions[step.member], bytes);
                ++depth;
                break;
            case Step::kAdd:
                reduce(vector(depth - 1), contributions[step.member]);
                break;
            case Step::kFold:
                reduce(vector(depth - 2), vector(depth - 1).data());
                --depth;
                break;
        }
    }
    SOFTIB_CHECK(depth == 1);
}

}  // namespace softib::sharp
