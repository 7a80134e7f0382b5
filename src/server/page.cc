// SPDX-License-Identifier: BSD-2-Clause
#include "server/page.h"

#include <fmt/format.h>

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

Response page_file(const Call& call) {
    const Request& request = call.request;
    const auto files = page::page_files();
    const auto name = call.names.empty() ? std::string_view("index.html") : call.name();
    const auto file = std::ranges::find(files, name, &page::PageFile::name);
    if (file == files.end()) {
        return Response::error(404, fmt::format("the page has no file '{}'", name));
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

}  // namespace

std::vector<Route> page_routes() {
    return {get("/", page_file, "the [web page](guide/page.md)"),
            get("/page/{file...}", page_file, "a file of the page")};
}

}  // namespace softib::server
