// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What reports in HTML share: a page that needs nothing else, tables, and pictures in SVG.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace softib::app::html {

inline constexpr double kWidth = 860;  ///< Of pictures.
inline constexpr std::array<const char*, 6> kColours{"#1f6feb", "#d1242f", "#1a7f37",
                                                     "#9a6700", "#8250df", "#0a7c86"};

std::string escaped(std::string_view text);
/// A page with this title as its heading; `body` follows it.
std::string page(std::string_view title, const std::string& body);
/// A row of a table; `tag` is "th" or "td". Cells are escaped.
std::string cells(const std::vector<std::string>& row, const char* tag);
std::string table(const std::vector<std::string>& header,
                  const std::vector<std::vector<std::string>>& rows);
/// A picture of the width of the page.
std::string svg(double height, const std::string& inside);

}  // namespace softib::app::html
