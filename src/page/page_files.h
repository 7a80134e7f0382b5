// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The files of the web page, as embed.py packed them into the program.

#include <span>
#include <string_view>

namespace softib::page {

struct PageFile {
    std::string_view name;  ///< "index.html"
    std::string_view type;  ///< "text/html; charset=utf-8"
    std::string_view etag;  ///< The ETag, with its quotation marks.
    std::string_view gzip;  ///< The file's bytes, compressed.
};

std::span<const PageFile> page_files();

}  // namespace softib::page
