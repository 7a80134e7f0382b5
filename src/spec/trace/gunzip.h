// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Files of gzip (RFC 1952, RFC 1951), as profilers write them.

#include <expected>
#include <string>
#include <string_view>

namespace softib::spec {

inline bool is_gzip(std::string_view bytes) {
    return bytes.starts_with("\x1f\x8b");
}

/// All members of a file, with their lengths and checksums checked. The error names the byte.
std::expected<std::string, std::string> gunzip(std::string_view bytes);

}  // namespace softib::spec
