// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/html_page.h"

#include <fmt/format.h>

#include "page/report_files.h"

namespace softib::app {

namespace {

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
    std::string out = "<div class=\"scroll\" tabindex=\"0\"><table>\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        out += table_row(rows[i], i == 0 ? "th" : "td");
    }
    return out + "</table></div>\n";
}

std::string page_table(Cells header, std::vector<Cells> rows) {
    rows.insert(rows.begin(), std::move(header));
    return page_table(rows);
}

std::string page_head(std::string_view title, std::string_view below) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        "<title>{0}</title>\n<style>{1}</style></head><body>\n"
        "<header class=\"top\"><div><h1>{0}</h1>{2}</div>"
        "<button type=\"button\" id=\"theme\" hidden>Dark</button></header>\n<main>\n",
        escaped(title), page::report_style(),
        below.empty() ? "" : fmt::format("<p class=\"sub\">{}</p>", escaped(below)));
}

std::string page_foot() {
    return fmt::format(
        "</main>\n<footer>Made by softib {}; this file needs no network.</footer>\n"
        "<script>\n{}</script></body></html>\n",
        SOFTIB_VERSION, page::report_script());
}

std::string panel(std::string_view heading, std::string_view body) {
    return fmt::format("<section class=\"panel\"><h2>{}</h2>\n{}</section>\n", escaped(heading),
                       body);
}

std::string tiles(const std::vector<Tile>& all) {
    std::string out;
    for (const Tile& tile : all) {
        out += fmt::format(
            "<div class=\"tile\"><span>{}</span><strong>{}</strong><span>{}</span></div>\n",
            escaped(tile.name), escaped(tile.value), escaped(tile.below));
    }
    return "<div class=\"tiles\">\n" + out + "</div>\n";
}

std::string notes_html(std::string_view heading, const std::vector<std::string>& notes) {
    std::string out;
    for (const std::string& note : notes) {
        out += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
    }
    return notes.empty() ? "" : panel(heading, out);
}

std::string picture(double height, const std::string& inside) {
    return fmt::format(
        "<svg class=\"whole\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Plot\">\n{}</svg>\n",
        kPictureWidth, height, inside);
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
