// SPDX-License-Identifier: BSD-2-Clause
#include "zip/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace softib::zip {

namespace {

constexpr int kGzipWindow = 15 + 16;  // For zlib, 16 more means "with gzip's header".
constexpr int kMemoryLevel = 8;
constexpr int kQuick = 3;

Bytef* bytes_of(std::string_view text) {
    return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

/// Gives zlib the bytes from `at` on, at most as many as it can count. Returns how many.
std::size_t feed(z_stream& stream, std::string_view packed, std::size_t at) {
    const std::size_t count =
        std::min<std::size_t>(packed.size() - at, std::numeric_limits<uInt>::max());
    stream.next_in = bytes_of(packed.substr(at, count));
    stream.avail_in = static_cast<uInt>(count);
    return count;
}

}  // namespace

std::string gzip(std::string_view plain) {
    z_stream stream{};
    deflateInit2(&stream, kQuick, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, plain.size()), '\0');
    stream.next_in = bytes_of(plain);
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = bytes_of(packed);
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

std::expected<std::string, std::string> gunzip(std::string_view packed, std::size_t most) {
    std::string plain;
    std::array<char, 1 << 16> part{};
    z_stream stream{};
    inflateInit2(&stream, kGzipWindow);
    std::size_t at = 0;
    int result = Z_OK;
    while (result == Z_OK && plain.size() <= most) {
        const std::size_t fed = feed(stream, packed, at);
        stream.next_out = bytes_of({part.data(), part.size()});
        stream.avail_out = static_cast<uInt>(part.size());
        result = inflate(&stream, Z_NO_FLUSH);
        plain.append(part.data(), part.size() - stream.avail_out);
        at += fed - stream.avail_in;
        if (result == Z_STREAM_END && is_gzip(packed.substr(at))) {
            result = inflateReset(&stream);  // One more member.
        }
    }
    const std::string why = stream.msg == nullptr ? "the file is cut" : stream.msg;
    inflateEnd(&stream);
    if (plain.size() > most) {
        return std::unexpected(fmt::format("more than {} bytes come out", most));
    }
    if (result != Z_STREAM_END) {
        return std::unexpected(fmt::format("byte {}: compressed data are damaged: {}", at, why));
    }
    return plain;
}

}  // namespace softib::zip
