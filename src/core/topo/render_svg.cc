// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/render.h"
#include "core/topo/render_common.h"
#include "core/topo/svg_canvas.h"
#include "core/topo/svg_scene.h"

namespace softib::topo {

namespace {

constexpr double kBoxWidth = 104;
constexpr double kBoxHeight = 38;
constexpr double kBoxGap = 24;
constexpr double kLevelHeight = 150;
constexpr double kChipWidth = 84;
constexpr double kChipHeight = 18;
constexpr double kChipGap = 4;
constexpr std::size_t kChipsPerColumn = 12;
constexpr std::size_t kTooltipNamesMax = 24;

std::uint32_t hue_of(std::uint32_t index) {
    // Steps of the golden angle keep neighbours far apart on the colour wheel.
    return (205 + index * 137) % 360;
}

std::string box_label(const SceneBox& box) {
    return box.switches == 1 ? box.first : fmt::format("{} … {}", box.first, box.last);
}

std::string hca_range(const Fabric& fabric, const SceneBox& box) {
    if (box.hcas.empty()) {
        return {};
    }
    const Host& first = fabric.hosts[fabric.node(box.hcas.front()).host];
    const Host& last = fabric.hosts[fabric.node(box.hcas.back()).host];
    return &first == &last ? first.name : fmt::format("{} … {}", first.name, last.name);
}

std::string tooltip(const Fabric& fabric, const SceneBox& box) {
    std::string text =
        fmt::format("{}: {}, {}", box_label(box), counted(box.switches, "switch", "switches"),
                    counted(box.hcas.size(), "HCA", "HCAs"));
    const std::size_t shown = std::min(box.hcas.size(), kTooltipNamesMax);
    for (std::size_t i = 0; i < shown; ++i) {
        text += '\n' + fabric.node(box.hcas[i]).name;
    }
    if (shown < box.hcas.size()) {
        text += fmt::format("\n… and {} more", box.hcas.size() - shown);
    }
    return text;
}

std::string box_sublabel(const SceneBox& box) {
    return box.switches > 1 ? counted(box.switches, "switch", "switches") : std::string();
}

/// Returns the width of the boxes: enough for the longest label, at about 7.2 units a character.
double box_width(const Scene& scene) {
    double width = kBoxWidth;
    for (const SceneBox& box : scene.boxes) {
        const std::size_t letters =
            box.switches == 1 ? box.first.size() : box.first.size() + box.last.size() + 3;
        width = std::max(width, static_cast<double>(letters) * 7.2 + 16);
    }
    return width;
}

Point on_circle(Point centre, double radius, double turn) {
    const double angle = (turn - 0.25) * 2 * std::numbers::pi;
    return {centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)};
}

Point between(Point a, Point b, double share) {
    return {a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share};
}

/// What all layouts have: the picture's parts, and the places of its boxes.
struct SvgLayout {
    SvgLayout(const Fabric& fabric, const Scene& scene, SvgCanvas& canvas)
        : fabric_(fabric),
          scene_(scene),
          canvas_(canvas),
          places_(scene.boxes.size()),
          box_width_(box_width(scene)) {}

    const Fabric& fabric_;
    const Scene& scene_;
    SvgCanvas& canvas_;
    std::vector<Point> places_;
    double box_width_;
};

// ---- trees -------------------------------------------------------------------------------------

class TreeLayout : SvgLayout {
  public:
    using SvgLayout::SvgLayout;

    void draw() {
        std::uint32_t level_max = 0;
        for (const SceneBox& box : scene_.boxes) {
            level_max = std::max(level_max, box.level);
        }
        const double width = place_bottom();
        // The wider the picture, the higher the levels, so that cables do not run too flat.
        const double step = std::max(kLevelHeight, width * 0.13);
        for (std::uint32_t level = 1; level <= level_max; ++level) {
            place_level(level, -(level * step), width);
        }
        draw_cables();
        for (std::size_t i = 0; i < scene_.boxes.size(); ++i) {
            const SceneBox& box = scene_.boxes[i];
            canvas_.box(SvgCanvas::Kind::kSwitch, places_[i], box_width_, kBoxHeight,
                        box_label(box), box_sublabel(box), tooltip(fabric_, box));
            draw_hcas(box, places_[i]);
        }
    }

  private:
    /// Returns the number of columns of HCAs under a switch. A single switch gets a block of HCAs
    /// that is wider than high.
    std::size_t columns(const SceneBox& box) const {
        if (scene_.folded) {
            return 1;
        }
        std::size_t count = std::max<std::size_t>(1, ceil_div(box.hcas.size(), kChipsPerColumn));
        while (scene_.boxes.size() == 1 && count * count * 5 < box.hcas.size() * 2) {
            ++count;
        }
        return count;
    }

    double place_bottom() {
        double x = 0;
        for (std::size_t i = 0; i < scene_.boxes.size(); ++i) {
            if (scene_.boxes[i].level != 0) {
                continue;
            }
            const auto chips = static_cast<double>(columns(scene_.boxes[i]));
            const double width = std::max(box_width_, chips * (kChipWidth + kChipGap) - kChipGap);
            places_[i] = {x + width / 2, 0};
            x += width + kBoxGap;
        }
        return x - kBoxGap;
    }

    void place_level(std::uint32_t level, double y, double width) {
        std::vector<std::size_t> row;
        for (std::size_t i = 0; i < scene_.boxes.size(); ++i) {
            if (scene_.boxes[i].level == level) {
                row.push_back(i);
            }
        }
        const auto count = static_cast<double>(row.size());
        const double pitch = std::max(width / count, box_width_ + kBoxGap);
        for (std::size_t k = 0; k < row.size(); ++k) {
            const double offset = static_cast<double>(k) - (count - 1) / 2;
            places_[row[k]] = {width / 2 + offset * pitch, y};
        }
    }

    void draw_cables() {
        for (const SceneBundle& bundle : scene_.bundles) {
            const bool a_above = scene_.boxes[bundle.a].level > scene_.boxes[bundle.b].level;
            const std::uint32_t above = a_above ? bundle.a : bundle.b;
            const Point upper = places_[above];
            const Point lower = places_[a_above ? bundle.b : bundle.a];
            const double pull = std::max((lower.y - upper.y) / 2, 40.0);
            canvas_.cable({upper.x, upper.y + kBoxHeight / 2}, {upper.x, upper.y + pull},
                          {lower.x, lower.y - pull}, {lower.x, lower.y - kBoxHeight / 2},
                          bundle.cables, hue_of(above));
        }
    }

    void draw_hcas(const SceneBox& box, Point at) {
        if (box.hcas.empty()) {
            return;
        }
        const double first_y = at.y + kBoxHeight / 2 + 30;
        canvas_.straight_cable({at.x, at.y + kBoxHeight / 2}, {at.x, first_y - kChipHeight / 2},
                               static_cast<std::uint32_t>(box.hcas.size()), 150);
        if (scene_.folded) {
            canvas_.box(SvgCanvas::Kind::kHca, {at.x, first_y + 10}, box_width_, kBoxHeight,
                        counted(box.hcas.size(), "HCA", "HCAs"), hca_range(fabric_, box),
                        tooltip(fabric_, box));
            return;
        }
        const std::size_t width = columns(box);
        for (std::size_t i = 0; i < box.hcas.size(); ++i) {
            const double column = static_cast<double>(i % width);
            const double row = static_cast<double>(i / width);
            const double offset = column - (static_cast<double>(width) - 1) / 2;
            canvas_.box(
                SvgCanvas::Kind::kHca,
                {at.x + offset * (kChipWidth + kChipGap), first_y + row * (kChipHeight + kChipGap)},
                kChipWidth, kChipHeight, fabric_.node(box.hcas[i]).name, "", "");
        }
    }
};

// ---- tori --------------------------------------------------------------------------------------

class TorusLayout : SvgLayout {
  public:
    using SvgLayout::SvgLayout;

    void draw() {
        ring_ = scene_.extent.size() == 1;
        for (std::size_t i = 0; i < places_.size(); ++i) {
            places_[i] = ring_ ? ring_place(i) : grid_place(scene_.boxes[i].position);
        }
        for (const SceneBundle& bundle : scene_.bundles) {
            draw_cable(bundle);
        }
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const SceneBox& box = scene_.boxes[i];
            std::string hcas = counted(box.hcas.size(), "HCA", "HCAs");
            if (box.switches == 1 && box.hcas.size() == 1) {
                hcas = fabric_.node(box.hcas.front()).name;
            }
            canvas_.box(SvgCanvas::Kind::kSwitch, places_[i], box_width_, kBoxHeight,
                        box_label(box), box.hcas.empty() ? "" : hcas, tooltip(fabric_, box));
        }
    }

  private:
    double pitch_x() const { return box_width_ + 44; }
    static constexpr double kPitchY = kBoxHeight + 44;

    Point ring_place(std::size_t index) const {
        const auto count = static_cast<double>(scene_.boxes.size());
        const double radius = std::max(120.0, count * (box_width_ + 20) / 6.0);
        return on_circle({0, 0}, radius, static_cast<double>(index) / count);
    }

    /// Returns the place of a box. The last two dimensions make a panel; the one before them runs
    /// along a row of panels, and all others from row to row.
    Point grid_place(const std::vector<std::uint32_t>& position) const {
        const std::size_t n = scene_.extent.size();
        const std::uint32_t column = n >= 3 ? position[n - 3] : 0;
        std::uint32_t row = 0;
        for (std::size_t d = 0; d + 3 < n; ++d) {
            row = row * scene_.extent[d] + position[d];
        }
        const double panel_width = (scene_.extent[n - 1] + 0.6) * pitch_x();
        const double panel_height = (scene_.extent[n - 2] + 0.8) * kPitchY;
        return {column * panel_width + position[n - 1] * pitch_x(),
                row * panel_height + position[n - 2] * kPitchY};
    }

    /// Returns the dimension in which two boxes are neighbours.
    std::size_t dimension_of(const SceneBundle& bundle) const {
        const auto& a = scene_.boxes[bundle.a].position;
        const auto& b = scene_.boxes[bundle.b].position;
        std::size_t d = 0;
        while (d + 1 < a.size() && a[d] == b[d]) {
            ++d;
        }
        return d;
    }

    void draw_cable(const SceneBundle& bundle) {
        const std::size_t d = dimension_of(bundle);
        const std::uint32_t from = scene_.boxes[bundle.a].position[d];
        const std::uint32_t to = scene_.boxes[bundle.b].position[d];
        const bool in_panel = d + 2 >= scene_.extent.size();
        const Point a = places_[bundle.a];
        const Point b = places_[bundle.b];
        const std::uint32_t hue = hue_of(static_cast<std::uint32_t>(d));
        if (ring_ || (in_panel && to == from + 1)) {
            canvas_.straight_cable(a, b, bundle.cables, hue);
            return;
        }
        // Wraparound cables and those between panels curve around the boxes that lie between.
        const bool along_x = d + 1 == scene_.extent.size();
        const bool along_y = d + 2 == scene_.extent.size();
        const double bow_x = along_y ? box_width_ * 0.85 : (along_x ? 0 : 40);
        const double bow_y = along_x ? -kBoxHeight * 1.1 : (along_y ? 0 : -kBoxHeight);
        const Point third = between(a, b, 0.1);
        const Point back = between(a, b, 0.9);
        canvas_.cable(a, {third.x + bow_x, third.y + bow_y}, {back.x + bow_x, back.y + bow_y}, b,
                      bundle.cables, hue);
    }

    bool ring_ = false;
};

// ---- dragonflies -------------------------------------------------------------------------------

class DragonflyLayout : SvgLayout {
  public:
    using SvgLayout::SvgLayout;

    void draw() {
        const auto groups = static_cast<double>(scene_.extent[0]);
        const auto inside = static_cast<double>(scene_.extent[1]);
        const double switch_radius = scene_.folded ? 40 : 25;
        const double group_radius =
            scene_.folded ? switch_radius : std::max(52.0, inside * 2.6 * switch_radius / 6.28);
        const double rim = group_radius + (scene_.folded ? 8 : 32);
        const double radius = std::max(groups * rim * 2.3 / 6.28, groups > 1 ? rim * 1.6 : 0.0);
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const auto& position = scene_.boxes[i].position;
            const Point centre = on_circle({0, 0}, radius, position[0] / groups);
            places_[i] =
                scene_.folded ? centre : on_circle(centre, group_radius, position[1] / inside);
            if (!scene_.folded && position[1] == 0) {
                canvas_.disc(SvgCanvas::Kind::kGroup, centre, rim, "", "");
                canvas_.caption({centre.x, centre.y - rim - 6},
                                fmt::format("group {}", position[0]));
            }
        }
        for (const SceneBundle& bundle : scene_.bundles) {
            draw_cable(bundle);
        }
        for (std::size_t i = 0; i < places_.size(); ++i) {
            draw_box(scene_.boxes[i], places_[i], switch_radius);
        }
    }

  private:
    void draw_cable(const SceneBundle& bundle) {
        const Point a = places_[bundle.a];
        const Point b = places_[bundle.b];
        const std::uint32_t group = scene_.boxes[bundle.a].position[0];
        if (group == scene_.boxes[bundle.b].position[0]) {
            canvas_.straight_cable(a, b, bundle.cables, 215);
            return;
        }
        // Global cables bend towards the centre, which keeps them off the groups between.
        canvas_.cable(a, between(a, {0, 0}, 0.55), between(b, {0, 0}, 0.55), b, bundle.cables,
                      hue_of(group));
    }

    void draw_box(const SceneBox& box, Point at, double radius) {
        std::string label = box.first;
        if (scene_.folded) {
            // The box stands for whole groups; its label is "g3 … g5".
            label = box.first.substr(0, box.first.find('s'));
            const std::string last = box.last.substr(0, box.last.find('s'));
            label += label == last ? "" : " … " + last;
        }
        canvas_.disc(SvgCanvas::Kind::kSwitch, at, radius, label, tooltip(fabric_, box));
        if (!box.hcas.empty()) {
            canvas_.caption({at.x, at.y + 15}, counted(box.hcas.size(), "HCA", "HCAs"));
        }
    }
};

}  // namespace

std::string render_svg(const Fabric& fabric) {
    const Scene scene = make_scene(fabric);
    SvgCanvas canvas;
    if (scene.extent.empty()) {
        TreeLayout(fabric, scene, canvas).draw();
    } else if (is_grid(fabric)) {
        TorusLayout(fabric, scene, canvas).draw();
    } else {
        DragonflyLayout(fabric, scene, canvas).draw();
    }
    std::string title = fabric.name;
    if (fabric.shape) {
        title += fmt::format(" ({})", to_string(*fabric.shape));
    }
    return canvas.finish(title, summary(fabric));
}

}  // namespace softib::topo
