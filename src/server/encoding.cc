// SPDX-License-Identifier: BSD-2-Clause
#include "server/encoding.h"

#include "zip/gzip.h"

namespace softib::server {

namespace {

constexpr std::size_t kWorthwhileBytes = 1024;

}  // namespace

bool takes_gzip(const Request& request) {
    return request.header("accept-encoding").find("gzip") != std::string_view::npos;
}

void encode_for(const Request& request, Response& response) {
    if (response.body.size() < kWorthwhileBytes || response.headers.contains("Content-Encoding") ||
        !takes_gzip(request)) {
        return;
    }
    response.body = zip::gzip(response.body);
    response.headers["Content-Encoding"] = "gzip";
    response.headers["Vary"] = "Accept-Encoding";
}

}  // namespace softib::server
