// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Bytes in gzip's format (RFC 1952), by zlib: responses of the server, and traces as profilers
// write them.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace softib::zip {

inline bool is_gzip(std::string_view bytes) {
    return bytes.starts_with("\x1f\x8b");
}

/// Compresses quickly rather than much: the result is a tenth larger than the best, in a fifth of
/// the time.
std::string gzip(std::string_view plain);

/// Unpacks all members of a file and checks their lengths and checksums. The error names the byte
/// that is wrong, or says that more than `most` bytes come out.
std::expected<std::string, std::string> gunzip(std::string_view packed,
                                               std::size_t most = SIZE_MAX);

}  // namespace softib::zip
