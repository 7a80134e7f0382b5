// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reports: pages of HTML that load nothing else, light and dark, whose pictures need no script.
// src/page/report has their style, and the script that zooms timelines.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/markup.h"

namespace softib::app {

inline constexpr std::array<const char*, 6> kPageColours{"#1f6feb", "#d1242f", "#1a7f37",
                                                         "#9a6700", "#8250df", "#0a7c86"};

using Cells = std::vector<std::string>;
/// Returns a table as HTML; the first row is its header.
std::string page_table(const std::vector<Cells>& rows);
std::string page_table(Cells header, std::vector<Cells> rows);
/// Returns the beginning of a page, up to and with its title as the first heading.
std::string page_head(std::string_view title, std::string_view below = {});
/// Returns the end of a page.
std::string page_foot();
/// Returns a part of a page that has a heading.
std::string panel(std::string_view heading, std::string_view body);
/// A figure that a reader should see first.
struct Tile {
    std::string name;
    std::string value;
    std::string below = {};
};
std::string tiles(const std::vector<Tile>& all);
/// Returns sentences about what figures stand on.
std::string notes_html(std::string_view heading, const std::vector<std::string>& notes);

inline constexpr double kPictureWidth = 860;
/// Returns a picture, as SVG, of the width of a page.
std::string picture(double height, const std::string& inside);
/// Returns the texts below an axis that goes from `left` to `right`, in `steps` steps of one size.
/// `text` returns that of a part of the axis, from 0 to 1.
std::string axis_marks(double left, double right, double y, int steps,
                       const std::function<std::string(double part)>& text);
/// Returns a line through points of a picture; `more` is further attributes.
std::string curve(const std::vector<std::pair<double, double>>& points, const char* colour,
                  const char* more = "");

}  // namespace softib::app
