// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/html_page.h"

#include <fmt/format.h>

namespace softib::app::html {

namespace {

constexpr char kStyle[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;"
    "color:#1f2328}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25em .6em;"
    "border-bottom:1px solid #d1d9e0}th{font-weight:600}svg{width:100%;height:auto}"
    "text{font:12px system-ui,sans-serif;fill:#59636e}.note{background:#fff8c5;padding:.5em 1em}"
    "li{margin:.3em 0}";

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string page(std::string_view title, const std::string& body) {
    return fmt::format(
               "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
               "<meta name=\"viewport\" content=\"width=device-width\"><title>{0}</title>"
               "<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
               escaped(title), kStyle) +
           body + "</body></html>\n";
}

std::string cells(const std::vector<std::string>& row, const char* tag) {
    std::string text = "<tr>";
    for (const std::string& cell : row) {
        text += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    }
    return text + "</tr>\n";
}

std::string table(const std::vector<std::string>& header,
                  const std::vector<std::vector<std::string>>& rows) {
    std::string text = "<table>\n" + cells(header, "th");
    for (const std::vector<std::string>& row : rows) {
        text += cells(row, "td");
    }
    return text + "</table>\n";
}

std::string svg(double height, const std::string& inside) {
    return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n{}</svg>\n", kWidth, height,
                       inside);
}

}  // namespace softib::app::html
