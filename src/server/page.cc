// SPDX-License-Identifier: BSD-2-Clause
#include "server/page.h"

#include <algorithm>

#include "page/page_files.h"
#include "server/encoding.h"
#include "zip/gzip.h"

namespace softib::server {

namespace {

constexpr std::size_t kFileMax = std::size_t{4} << 20;
// The page may load only from this server, and may have no script or style inside the document.
constexpr char kContentPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

std::optional<Response> page_response(const Request& request) {
    constexpr std::string_view kFolder = "/page/";
    const std::string_view path = request.path;
    const bool is_file = path.starts_with(kFolder);
    if (request.is_write() || (!is_file && path != "/")) {
        return std::nullopt;
    }
    const auto files = page::page_files();
    const auto name = is_file ? path.substr(kFolder.size()) : std::string_view("index.html");
    const auto file = std::ranges::find(files, name, &page::PageFile::name);
    if (file == files.end()) {
        return std::nullopt;
    }
    Response response;
    response.type = file->type;
    response.headers = {{"ETag", std::string(file->etag)},
                        {"Cache-Control", "no-cache"},
                        {"Content-Security-Policy", kContentPolicy},
                        {"Vary", "Accept-Encoding"}};
    if (request.header("if-none-match") == file->etag) {
        response.status = 304;
    } else if (takes_gzip(request)) {
        response.body = file->gzip;
        response.headers["Content-Encoding"] = "gzip";
    } else {
        response.body = zip::gunzip(file->gzip, kFileMax).value_or("");
    }
    return response;
}

}  // namespace softib::server
