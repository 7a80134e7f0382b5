// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/base/markup.h"

namespace softib::topo {

namespace {

constexpr double kMargin = 30;
constexpr double kTitleHeight = 56;
constexpr double kWidthMin = 520;

// Styles for the light and the dark colour scheme, so that the picture fits a page of either.
constexpr const char* kStyle =
    "text{font-family:system-ui,sans-serif;fill:#1d2733;text-anchor:middle}"
    ".bg{fill:#fbfcfe}.t{font-size:18px;font-weight:600;text-anchor:start}"
    ".u{font-size:12px;fill:#5c6b7c;text-anchor:start}"
    ".l{font-size:12px;font-weight:600}.s,.c{font-size:10px;fill:#5c6b7c}"
    ".sw{fill:#dcebff;stroke:#3b78c9}.hca{fill:#dff5e6;stroke:#3d9a63}"
    ".grp{fill:#f1f4f9;stroke:#c8d2df}.w{fill:none;stroke-opacity:.55;stroke-linecap:round}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf5}.u,.s,.c{fill:#9fb0c3}.bg{fill:#12171e}"
    ".sw{fill:#1d3557;stroke:#6ea8f0}.hca{fill:#1c3b2a;stroke:#62c48b}"
    ".grp{fill:#1a212b;stroke:#36424f}}";

const char* css_class(SvgCanvas::Kind kind) {
    switch (kind) {
        case SvgCanvas::Kind::kHca:
            return "hca";
        case SvgCanvas::Kind::kGroup:
            return "grp";
        case SvgCanvas::Kind::kSwitch:
            break;
    }
    return "sw";
}

/// Returns the width of a bundle's line, which grows with the logarithm of the number of cables:
/// 1 cable 1.2, 2 cables 1.8, 4 cables 2.4, …
double stroke_width(std::uint32_t cables) {
    return 0.6 + 0.6 * static_cast<double>(std::bit_width(std::min(cables, 1023U)));
}

std::string tooltip_element(const std::string& tooltip) {
    return tooltip.empty() ? std::string() : "<title>" + escaped(tooltip) + "</title>";
}

}  // namespace

void SvgCanvas::cover(Point p, double margin) {
    left_ = empty_ ? p.x - margin : std::min(left_, p.x - margin);
    right_ = empty_ ? p.x + margin : std::max(right_, p.x + margin);
    top_ = empty_ ? p.y - margin : std::min(top_, p.y - margin);
    bottom_ = empty_ ? p.y + margin : std::max(bottom_, p.y + margin);
    empty_ = false;
}

void SvgCanvas::box(Kind kind, Point centre, double width, double height, const std::string& label,
                    const std::string& sublabel, const std::string& tooltip) {
    std::string& out = kind == Kind::kGroup ? groups_ : boxes_;
    const auto at = std::back_inserter(out);
    fmt::format_to(at,
                   "<g>{}<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                   "height=\"{:.1f}\" rx=\"6\"/>",
                   tooltip_element(tooltip), css_class(kind), centre.x - width / 2,
                   centre.y - height / 2, width, height);
    const bool two = !label.empty() && !sublabel.empty();
    if (!label.empty()) {
        fmt::format_to(at, "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                       kind == Kind::kHca ? "s" : "l", centre.x, centre.y + (two ? -2 : 4),
                       escaped(label));
    }
    if (!sublabel.empty()) {
        fmt::format_to(at, "<text class=\"s\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", centre.x,
                       centre.y + (two ? 12 : 4), escaped(sublabel));
    }
    out += "</g>\n";
    cover({centre.x - width / 2, centre.y - height / 2}, 0);
    cover({centre.x + width / 2, centre.y + height / 2}, 0);
}

void SvgCanvas::disc(Kind kind, Point centre, double radius, const std::string& label,
                     const std::string& tooltip) {
    std::string& out = kind == Kind::kGroup ? groups_ : boxes_;
    const auto at = std::back_inserter(out);
    fmt::format_to(at, "<g>{}<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>",
                   tooltip_element(tooltip), css_class(kind), centre.x, centre.y, radius);
    if (!label.empty()) {
        fmt::format_to(at, "<text class=\"s\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", centre.x,
                       centre.y + 3.5, escaped(label));
    }
    out += "</g>\n";
    cover(centre, radius);
}

void SvgCanvas::caption(Point at, const std::string& text) {
    fmt::format_to(std::back_inserter(boxes_),
                   "<text class=\"c\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at.x, at.y,
                   escaped(text));
    cover(at, 12);
}

void SvgCanvas::cable(Point from, Point from_pull, Point to_pull, Point to, std::uint32_t cables,
                      std::uint32_t hue) {
    fmt::format_to(std::back_inserter(cables_),
                   "<path class=\"w\" stroke=\"hsl({},55%,52%)\" stroke-width=\"{:.1f}\" "
                   "d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n",
                   hue % 360, stroke_width(cables), from.x, from.y, from_pull.x, from_pull.y,
                   to_pull.x, to_pull.y, to.x, to.y);
    // The curve goes at most three quarters of the way towards its two control points.
    cover({from.x + (from_pull.x - from.x) * 0.75, from.y + (from_pull.y - from.y) * 0.75}, 2);
    cover({to.x + (to_pull.x - to.x) * 0.75, to.y + (to_pull.y - to.y) * 0.75}, 2);
}

void SvgCanvas::straight_cable(Point from, Point to, std::uint32_t cables, std::uint32_t hue) {
    cable(from, from, to, to, cables, hue);
}

std::string SvgCanvas::finish(const std::string& title, const std::string& subtitle) const {
    const double width = std::max(right_ - left_ + 2 * kMargin, kWidthMin);
    const double height = bottom_ - top_ + 2 * kMargin + kTitleHeight;
    const double x = (left_ + right_ - width) / 2;
    const double y = top_ - kMargin - kTitleHeight;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "viewBox=\"{:.1f} {:.1f} {:.1f} {:.1f}\">\n<title>{}</title>\n<style>{}</style>\n",
        width, height, x, y, width, height, escaped(title), kStyle);
    fmt::format_to(std::back_inserter(out),
                   "<rect class=\"bg\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                   "height=\"{:.1f}\"/>\n<text class=\"t\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n"
                   "<text class=\"u\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   x, y, width, height, x + kMargin, y + 34, escaped(title), x + kMargin, y + 54,
                   escaped(subtitle));
    return out + groups_ + cables_ + boxes_ + "</svg>\n";
}

}  // namespace softib::topo
