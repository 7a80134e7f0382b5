// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A canvas that collects shapes and writes one self-contained SVG file, as large as the shapes
// need. Cables are drawn below boxes, whatever the order of the calls. Internal to this folder.

#include <cstdint>
#include <string>

namespace softib::topo {

struct Point {
    double x = 0;
    double y = 0;
};

class SvgCanvas {
  public:
    enum class Kind : std::uint8_t { kSwitch, kHca, kGroup };

    /// Draws a rounded box around `centre`; empty texts are left out.
    void box(Kind kind, Point centre, double width, double height, const std::string& label,
             const std::string& sublabel, const std::string& tooltip);
    void disc(Kind kind, Point centre, double radius, const std::string& label,
              const std::string& tooltip);
    void caption(Point at, const std::string& text);
    /// Draws a bundle of cables as a cubic curve; `hue` is its colour, in degrees.
    void cable(Point from, Point from_pull, Point to_pull, Point to, std::uint32_t cables,
               std::uint32_t hue);
    void straight_cable(Point from, Point to, std::uint32_t cables, std::uint32_t hue);

    std::string finish(const std::string& title, const std::string& subtitle) const;

  private:
    void cover(Point p, double margin);

    std::string groups_;
    std::string cables_;
    std::string boxes_;
    double left_ = 0;
    double top_ = 0;
    double right_ = 0;
    double bottom_ = 0;
    bool empty_ = true;
};

}  // namespace softib::topo
