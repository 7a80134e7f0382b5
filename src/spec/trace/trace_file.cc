// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trace/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>

#include "spec/text_file.h"
#include "spec/trace/file_rank.h"
#include "zip/gzip.h"

namespace softib::spec {

const char* to_string(TraceFormat format) {
    constexpr std::array<const char*, 5> kNames{"GOAL", "Chakra", "Chakra (JSON)", "SimAI",
                                                "Kineto"};
    return kNames[static_cast<std::size_t>(format)];
}

std::expected<TraceFormat, std::string> format_of(const TraceText& file) {
    const std::string_view text = file.text;
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const std::string_view start = text.substr(begin);
    if (start.empty()) {
        return std::unexpected(fmt::format("{}: the file is empty", file.file));
    }
    if (start.starts_with('{') || start.starts_with('[')) {
        return start.find("\"traceEvents\"") != std::string_view::npos ? TraceFormat::kKineto
                                                                       : TraceFormat::kChakraJson;
    }
    if (start.starts_with("num_ranks") || start.starts_with("//") || start.starts_with("/*")) {
        return TraceFormat::kGoal;
    }
    if (start.starts_with("HYBRID_") || start.starts_with("MICRO")) {
        return TraceFormat::kSimAi;
    }
    // Chakra's first message is its version: a length, field 1, and a text.
    const auto size = static_cast<std::uint8_t>(text[0]);
    if (file.file.ends_with(".et") || (text.size() > 2 && size < 64 && text[1] == '\x0a')) {
        return TraceFormat::kChakra;
    }
    return std::unexpected(fmt::format(
        "{}: this is no trace: GOAL, Chakra (.et or JSON), SimAI and Kineto (JSON) are read",
        file.file));
}

std::optional<std::uint32_t> rank_in_name(std::string_view file) {
    const std::size_t slash = file.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? file : file.substr(slash + 1);
    const std::size_t last = name.find_last_of("0123456789");
    if (last == std::string_view::npos) {
        return std::nullopt;
    }
    std::size_t first = last;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') {
        --first;
    }
    std::uint32_t rank = 0;
    const auto [end, bad] = std::from_chars(name.data() + first, name.data() + last + 1, rank);
    return bad == std::errc() && end != nullptr ? std::optional(rank) : std::nullopt;
}

std::expected<std::vector<std::uint32_t>, std::string> file_ranks(
    std::span<const TraceText> files) {
    if (files.size() == 1) {
        return std::vector<std::uint32_t>{0};
    }
    std::vector<std::uint32_t> ranks;
    std::vector<bool> seen(files.size());
    for (const TraceText& file : files) {
        const auto rank = rank_in_name(file.file);
        if (!rank || *rank >= files.size() || seen[*rank]) {
            return std::unexpected(fmt::format(
                "{}: with {} files, each name must end in a rank of its own from 0 to {}, as "
                "job.0.et",
                file.file, files.size(), files.size() - 1));
        }
        seen[*rank] = true;
        ranks.push_back(*rank);
    }
    return ranks;
}

std::expected<plan::trace::Job, std::string> parse_trace(std::span<const TraceText> files,
                                                         const TraceOptions& options) {
    if (files.empty()) {
        return std::unexpected("there is no file to read");
    }
    const auto format = format_of(files.front());
    if (!format) {
        return std::unexpected(format.error());
    }
    const bool whole = *format == TraceFormat::kGoal || *format == TraceFormat::kSimAi;
    if (whole && files.size() > 1) {
        return std::unexpected(
            fmt::format("{}: a {} file has all ranks: give one, and other jobs with --job",
                        files.front().file, to_string(*format)));
    }
    auto job = *format == TraceFormat::kGoal     ? parse_goal(files.front())
               : *format == TraceFormat::kSimAi  ? parse_simai(files.front())
               : *format == TraceFormat::kKineto ? parse_kineto(files)
                                                 : parse_chakra(files, options);
    if (!job) {
        return job;
    }
    if (const auto fault = plan::trace::find_fault(*job)) {
        return std::unexpected(fmt::format("{}: {}", files.front().file, *fault));
    }
    return job;
}

std::expected<TraceText, std::string> load_text(const std::string& path) {
    auto bytes = read_file(path);
    if (!bytes) {
        return std::unexpected(bytes.error());
    }
    TraceText file{path, *std::move(bytes)};
    if (zip::is_gzip(file.text)) {
        auto text = zip::gunzip(file.text);
        if (!text) {
            return std::unexpected(fmt::format("{}: {}", path, text.error()));
        }
        file.text = *std::move(text);
    }
    return file;
}

std::expected<plan::trace::Job, std::string> load_trace(std::span<const std::string> paths,
                                                        const TraceOptions& options) {
    std::vector<std::string> names;
    std::string groups;
    for (const std::string& path : paths) {
        std::error_code unreadable;
        if (!std::filesystem::is_directory(path, unreadable)) {
            names.push_back(path);
            continue;
        }
        for (const auto& each : std::filesystem::directory_iterator(path, unreadable)) {
            const std::string name = each.path().filename().string();
            if (!each.is_regular_file() || name.starts_with('.')) {
                continue;
            }
            if (name.ends_with("groups.json")) {
                groups = each.path().string();
            } else {
                names.push_back(each.path().string());
            }
        }
    }
    std::ranges::sort(names);
    std::vector<TraceText> files;
    for (const std::string& name : names) {
        auto text = load_text(name);
        if (!text) {
            return std::unexpected(text.error());
        }
        files.push_back(*std::move(text));
    }
    if (files.empty() && !paths.empty()) {
        return std::unexpected(fmt::format("{}: there is no trace in this folder", paths.front()));
    }
    TraceOptions known = options;
    if (known.groups.text.empty() && !groups.empty()) {
        auto text = load_text(groups);
        if (!text) {
            return std::unexpected(text.error());
        }
        known.groups = *std::move(text);
    }
    return parse_trace(files, known);
}

}  // namespace softib::spec
