// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/share.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace softib::app::sweep {

namespace {

constexpr std::uint32_t kPartsMax = 100'000;

std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
}

std::optional<std::uint32_t> number_of(const Variable& variable, const char* name) {
    const char* const text = name == nullptr ? nullptr : variable(name);
    return text == nullptr ? std::nullopt : number_in(text);
}

/// Variables in which a launcher tells a process its rank and the number of processes.
struct Launcher {
    const char* rank;
    const char* size;
};
// A batch script of Slurm has SLURM_PROCID too, but SLURM_STEP_NUM_TASKS only in a step.
constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

/// Variables in which a batch system tells a task of an array job its number, the first and the
/// last number, and the distance between two.
struct Array {
    const char* task;
    const char* first;
    const char* last;
    const char* step;
};
constexpr Array kArrays[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
     "SLURM_ARRAY_TASK_STEP"},
    {"SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"}};
// Variables of batch systems that do not tell how many tasks there are.
constexpr const char* kUncounted[] = {"PBS_ARRAY_INDEX", "PBS_ARRAYID", "LSB_JOBINDEX"};

std::expected<Share, std::string> parse_part(const std::string& part) {
    const std::string_view text(part);
    const std::size_t slash = std::min(text.find('/'), text.size());
    const auto index = number_in(text.substr(0, slash));
    const auto count = number_in(text.substr(std::min(slash + 1, text.size())));
    if (!index || !count || *index == 0 || *index > *count || *count > kPartsMax) {
        return std::unexpected(
            fmt::format("--part must be as 2/8, from 1/8 to 8/8, not \"{}\"", part));
    }
    return Share{*index - 1, *count};
}

std::expected<Share, std::string> find_array(const Variable& variable) {
    for (const Array& array : kArrays) {
        const auto task = number_of(variable, array.task);
        const auto first = number_of(variable, array.first);
        const auto last = number_of(variable, array.last);
        const std::uint32_t step = std::max(number_of(variable, array.step).value_or(1), 1U);
        if (task && first && last && *first <= *task && *task <= *last) {
            return Share{(*task - *first) / step, (*last - *first) / step + 1};
        }
    }
    for (const char* const name : kUncounted) {
        if (const auto index = number_of(variable, name); index && *index != 0) {
            return std::unexpected(fmt::format(
                "{} is set, but not how many tasks the array has: give --part ${}/N", name, name));
        }
    }
    return Share{};
}

}  // namespace

std::expected<Share, std::string> find_share(const std::string& part, const Variable& variable) {
    auto share = part.empty() ? find_array(variable) : parse_part(part);
    if (!share) {
        return share;
    }
    for (const Launcher& launcher : kLaunchers) {
        const auto rank = number_of(variable, launcher.rank);
        const auto size = number_of(variable, launcher.size);
        if (rank && size && *rank < *size) {
            // Each task of the array may itself be a job of several processes.
            share->index = share->index * *size + *rank;
            share->count *= *size;
            share->launched = true;
            break;
        }
    }
    return share;
}

}  // namespace softib::app::sweep
