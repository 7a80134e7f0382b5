// SPDX-License-Identifier: BSD-2-Clause
#include "server/encoding.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace softib::server {

namespace {

constexpr int kGzipWindow = 15 + 16;  // For zlib, 16 more means "with gzip's header".
constexpr int kMemoryLevel = 8;
constexpr int kQuick = 3;  // The result is a tenth larger than the best, in a fifth of the time.
constexpr std::size_t kWorthwhileBytes = 1024;

Bytef* bytes_of(std::string_view text) {
    return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
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

std::optional<std::string> gunzip(std::string_view packed, std::size_t most) {
    z_stream stream{};
    inflateInit2(&stream, kGzipWindow);
    stream.next_in = bytes_of(packed);
    stream.avail_in = static_cast<uInt>(packed.size());
    std::string plain;
    std::array<char, 1 << 14> part{};
    int result = Z_OK;
    while (result == Z_OK && plain.size() <= most) {
        stream.next_out = bytes_of({part.data(), part.size()});
        stream.avail_out = static_cast<uInt>(part.size());
        result = inflate(&stream, Z_NO_FLUSH);
        plain.append(part.data(), part.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    return result == Z_STREAM_END && plain.size() <= most ? std::optional(std::move(plain))
                                                          : std::nullopt;
}

bool takes_gzip(const Request& request) {
    return request.header("accept-encoding").find("gzip") != std::string_view::npos;
}

void encode_for(const Request& request, Response& response) {
    if (response.body.size() < kWorthwhileBytes || response.headers.contains("Content-Encoding") ||
        !takes_gzip(request)) {
        return;
    }
    response.body = gzip(response.body);
    response.headers["Content-Encoding"] = "gzip";
    response.headers["Vary"] = "Accept-Encoding";
}

}  // namespace softib::server
