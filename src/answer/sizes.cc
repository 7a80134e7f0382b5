// SPDX-License-Identifier: BSD-2-Clause
#include "answer/sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/units.h"

namespace softib::answer {

namespace {

/// Reads a size: "8", "64KiB", or "1G" as nccl-tests take it, where a letter alone is a power of
/// 1024.
std::expected<std::uint64_t, std::string> read_size(std::string text) {
    if (!text.empty() && std::string("KMGT").find(text.back()) != std::string::npos) {
        text += "iB";
    }
    auto size = plan::parse_size(text);
    if (!size) {
        return std::unexpected(fmt::format("--sizes: {}", size.error()));
    }
    if (*size == 0) {
        return std::unexpected("--sizes: an operation of no bytes moves nothing: write 1 or more");
    }
    return size;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text, char by) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(by, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

std::expected<std::vector<std::uint64_t>, std::string> read_sizes(const std::string& text) {
    std::vector<std::uint64_t> sizes;
    const std::vector<std::string> range = split_list(text, ':');
    if (range.size() == 2) {
        const auto low = read_size(range[0]);
        const auto high = read_size(range[1]);
        if (!low || !high) {
            return std::unexpected(!low ? low.error() : high.error());
        }
        if (*high < *low) {
            return std::unexpected(
                fmt::format("--sizes {}: write FROM:TO with TO not less than FROM", text));
        }
        for (std::uint64_t size = *low; size <= *high; size *= 2) {
            sizes.push_back(size);
        }
        return sizes;
    }
    for (const std::string& word : split_list(text, ',')) {
        const auto size = read_size(word);
        if (!size) {
            return std::unexpected(size.error());
        }
        if (std::ranges::find(sizes, *size) != sizes.end()) {
            return std::unexpected(fmt::format("--sizes: {} is there twice", word));
        }
        sizes.push_back(*size);
    }
    return sizes;
}

}  // namespace softib::answer
