// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/html_page.h"

#include <fmt/format.h>

namespace softib::app {

namespace {

constexpr char kPageStyle[] =
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

/// Returns a row of a table as HTML; `tag` is "th" or "td".
std::string table_row(const Cells& row, const char* tag) {
    std::string text = "<tr>";
    for (const std::string& cell : row) {
        text += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    }
    return text + "</tr>\n";
}

}  // namespace

std::string page_table(const std::vector<Cells>& rows) {
    std::string out = "<table>\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        out += table_row(rows[i], i == 0 ? "th" : "td");
    }
    return out + "</table>\n";
}

std::string page_table(Cells header, std::vector<Cells> rows) {
    rows.insert(rows.begin(), std::move(header));
    return page_table(rows);
}

std::string page_head(std::string_view title) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\"><title>{0}</title>"
        "<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
        escaped(title), kPageStyle);
}

std::string picture(double height, const std::string& inside) {
    return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n{}</svg>\n", kPictureWidth,
                       height, inside);
}

std::string axis_marks(double left, double right, double y, int steps,
                       const std::function<std::string(double part)>& text) {
    std::string out;
    for (int i = 0; i <= steps; ++i) {
        const double part = static_cast<double>(i) / steps;
        out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n",
                           left + part * (right - left), y,
                           i == 0       ? "start"
                           : i == steps ? "end"
                                        : "middle",
                           text(part));
    }
    return out;
}

std::string curve(const std::vector<std::pair<double, double>>& points, const char* colour,
                  const char* more) {
    std::string path;
    for (const auto& [x, y] : points) {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x, y);
    }
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path,
                       colour, more);
}

}  // namespace softib::app
