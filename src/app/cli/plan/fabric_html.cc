// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/plan/fabric_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/markup.h"

namespace softib::app {

namespace {

constexpr double kWide = 1000;
constexpr double kHigh = 92;
constexpr double kArcs = 46;

/// Returns the step of the colour scale for a load: 0 for nothing, 1 to 10 for tenths of `most`.
int step_of(double load, double most) {
    constexpr double kSteps = 10;
    return load <= 0
               ? 0
               : static_cast<int>(std::clamp(std::ceil(load / most * kSteps - 1e-9), 1.0, kSteps));
}

/// Returns the load at which the colour scale ends.
double end_of_scale(const plan::FabricLoad& load) {
    double most = 0;
    for (const plan::LoadTier& tier : load.tiers) {
        most = std::max(most, tier.most);
    }
    for (const double end : {0.05, 0.1, 0.2, 0.5}) {
        if (most <= end) {
            return end;
        }
    }
    return 1;
}

std::string percent(double part) {
    return part > 0 && part < 0.095 ? fmt::format("{:.2g} %", 100 * part)
                                    : fmt::format("{:.0f} %", 100 * part);
}

/// Returns the middle of a group's box.
double middle(const plan::LoadTier& tier, std::uint32_t group) {
    return kWide * (group + 0.5) / static_cast<double>(tier.groups.size());
}

/// How bundles of one picture look.
struct Look {
    double cables_most = 1;  ///< Cables of the widest bundle.
    double width = 8;        ///< The width of that one.
    double scale_end = 1;    ///< Load at which the colour scale ends.
};

std::string bundle_path(const plan::FabricLoad& load, const plan::LoadBundle& bundle,
                        const Look& look) {
    const plan::LoadTier& lower = load.tiers[bundle.tier];
    const plan::LoadTier& upper = load.tiers[bundle.upper_tier];
    const double from = middle(lower, bundle.group);
    const double to = middle(upper, bundle.upper_group);
    const bool within = bundle.tier == bundle.upper_tier;
    const std::string path =
        within
            ? fmt::format("M{0:.0f} {1:.0f}C{0:.0f} 0 {2:.0f} 0 {2:.0f} {1:.0f}", from, kArcs, to)
            : fmt::format("M{0:.0f} {1:.0f}C{0:.0f} {2:.0f} {3:.0f} {2:.0f} {3:.0f} 0", from, kHigh,
                          kHigh / 2, to);
    return fmt::format(
        "<path class=\"l{}\" stroke-width=\"{:.1f}\" d=\"{}\"><title>{} – {}: {} cables, busiest "
        "{}, mean {}</title></path>\n",
        step_of(bundle.most, look.scale_end),
        std::max(look.width * std::sqrt(bundle.cables / look.cables_most), 1.2), path,
        escaped(lower.groups[bundle.group].name), escaped(upper.groups[bundle.upper_group].name),
        bundle.cables, percent(bundle.most), percent(bundle.mean));
}

/// Returns the bundles from one tier to the next, or of one tier, the busiest on top.
std::string bundles_html(const plan::FabricLoad& load, std::uint32_t tier, bool within) {
    std::vector<plan::LoadBundle> all;
    Look look{.scale_end = end_of_scale(load)};
    for (const plan::LoadBundle& bundle : load.bundles) {
        const bool inner = bundle.tier == bundle.upper_tier;
        if (bundle.tier == tier && inner == within &&
            !(inner && bundle.group == bundle.upper_group)) {
            all.push_back(bundle);
            look.cables_most = std::max(look.cables_most, static_cast<double>(bundle.cables));
        }
    }
    if (all.empty()) {
        return "";
    }
    constexpr std::size_t kMany = 24;  // So many would be one surface if they were wide.
    look.width = all.size() > kMany ? 3.5 : 8;
    std::ranges::sort(all, {}, &plan::LoadBundle::most);
    std::string out = fmt::format(
        "<svg class=\"bundles{}\" viewBox=\"0 0 {:.0f} {:.0f}\" preserveAspectRatio=\"none\" "
        "role=\"img\" aria-label=\"Cables of {} by their load\">\n",
        within ? " arcs" : "", kWide, within ? kArcs : kHigh, escaped(load.tiers[tier].name));
    for (const plan::LoadBundle& bundle : all) {
        out += bundle_path(load, bundle, look);
    }
    return out + "</svg>\n";
}

std::string tier_html(const plan::FabricLoad& load, std::uint32_t number) {
    const plan::LoadTier& tier = load.tiers[number];
    std::string out = fmt::format("<div class=\"tier\"><b>{} {}</b>", tier.nodes, tier.name);
    if (tier.cables > 0) {
        out += fmt::format("<span>{} cables up: busiest {}, mean {}</span>", tier.cables,
                           percent(tier.most), percent(tier.mean));
    }
    out += "</div>\n<div class=\"boxes\">";
    for (const plan::LoadGroup& group : tier.groups) {
        out += fmt::format("<i title=\"{}: {}\"></i>", escaped(group.name), group.nodes);
    }
    return out + "</div>\n";
}

}  // namespace

std::string fabric_picture(const plan::FabricLoad& load) {
    std::string out;
    for (auto tier = static_cast<std::uint32_t>(load.tiers.size()); tier-- > 0;) {
        out += bundles_html(load, tier, true) + tier_html(load, tier);
        if (tier > 0) {
            out += bundles_html(load, tier - 1, false);
        }
    }
    return "<figure class=\"fabric\" aria-label=\"The fabric by tiers\">\n" + out +
           fmt::format(
               "<figcaption class=\"scale\">idle <i></i> {} of a cable's rate"
               "</figcaption></figure>\n",
               percent(end_of_scale(load))) +
           "<p class=\"muted\">A box is a few nodes of a tier, and a line all cables between two "
           "boxes, in the colour of the busiest direction of a cable. Point at a line for its "
           "figures.</p>\n";
}

}  // namespace softib::app
