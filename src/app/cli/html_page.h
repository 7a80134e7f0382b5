// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Pages of HTML that load nothing else: no script, no font and no picture.

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace softib::app {

inline constexpr std::array<const char*, 6> kPageColours{"#1f6feb", "#d1242f", "#1a7f37",
                                                         "#9a6700", "#8250df", "#0a7c86"};

inline constexpr char kPageStyle[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;"
    "color:#1f2328}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25em .6em;"
    "border-bottom:1px solid "
    "#d1d9e0}td:first-child{white-space:nowrap}th{font-weight:600}svg{width:100%;height:auto}"
    "text{font:12px system-ui,sans-serif;fill:#59636e}.note{background:#fff8c5;padding:.5em 1em}"
    "li{margin:.3em 0}.axis{stroke:#59636e;fill:none}.cell{stroke:#d1d9e0;stroke-width:.5}"
    ":root{color-scheme:light dark}@media(prefers-color-scheme:dark){"
    "body{background:#0d1117;color:#e6edf3}th,td{border-color:#30363d}text{fill:#9198a1}"
    ".note{background:#3d2e00}.axis{stroke:#9198a1}.cell{stroke:#30363d}}";

inline std::string escaped(std::string_view text) {
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

/// Returns a row of a table as HTML; `tag` is "th" or "td".
inline std::string table_row(const std::vector<std::string>& row, const char* tag) {
    std::string text = "<tr>";
    for (const std::string& cell : row) {
        text += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    }
    return text + "</tr>\n";
}

/// Returns the beginning of a page, up to and with its title as the first heading.
inline std::string page_head(std::string_view title) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\"><title>{0}</title>"
        "<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
        escaped(title), kPageStyle);
}
inline constexpr char kPageFoot[] = "</body></html>\n";

}  // namespace softib::app
