// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads a whole file that a user names.

#include <fmt/format.h>

#include <cerrno>
#include <expected>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace softib::spec {

/// Returns whether what should name something is its description itself: a text with a line end, as
/// programs give it that keep no files.
inline bool is_description(std::string_view name) {
    return name.find('\n') != std::string_view::npos;
}

/// Returns the bytes of a file. The error names the file and says why it cannot be read: among
/// others, what is no regular file may have no end (/dev/zero), and is read only so far.
inline std::expected<std::string, std::string> read_file(const std::string& file) {
    constexpr std::size_t kEndlessBytes = std::size_t{256} << 20;
    constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
    std::error_code none;
    const bool has_end = std::filesystem::is_regular_file(file, none);
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    std::string text;
    std::vector<char> piece(kPieceBytes);
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
        if (!has_end && text.size() > kEndlessBytes) {
            return std::unexpected(fmt::format("{} is larger than {} MiB: is it the right file?",
                                               file, kEndlessBytes >> 20));
        }
    }
    if (!in.eof()) {
        return std::unexpected(
            fmt::format("cannot read {}: {}", file, std::generic_category().message(errno)));
    }
    return text;
}

}  // namespace softib::spec
