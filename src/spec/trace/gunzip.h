// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Unpacks gzip files (RFC 1952, RFC 1951), as profilers write them.

#include <expected>
#include <string>
#include <string_view>

namespace softib::spec {

inline bool is_gzip(std::string_view bytes) {
    return bytes.starts_with("\x1f\x8b");
}

/// Unpacks all members of a file and checks their lengths and checksums. The error names the byte
/// that is wrong.
std::expected<std::string, std::string> gunzip(std::string_view bytes);

}  // namespace softib::spec
