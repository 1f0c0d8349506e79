//===- MachinePicture.cpp - Ranks, links and their loads ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include <algorithm>
#include <cmath>

using namespace sccl;
using namespace sccl::report;

/// A curve from one spot to another, to the right of the straight line, so that
/// the way back has one of its own.
static std::string arcPath(Place from, Place to) {
  double dx = to.x - from.x, dy = to.y - from.y;
  double length = std::max(std::hypot(dx, dy), 1.0);
  double bend = std::min(0.12 * length, 24.0);
  Place middle{(from.x + to.x) / 2 - dy / length * bend,
               (from.y + to.y) / 2 + dx / length * bend};
  return "M " + coordinate(from.x) + " " + coordinate(from.y) + " Q " +
         coordinate(middle.x) + " " + coordinate(middle.y) + " " +
         coordinate(to.x) + " " + coordinate(to.y);
}

/// "load0" for nothing, to "load4" for a link that is always busy.
static std::string shadeOf(double use) {
  int shade = use <= 0 ? 0 : use < 0.5 ? 1 : use < 0.8 ? 2 : use < 1 ? 3 : 4;
  return "link load" + std::to_string(shade);
}

static std::string titleOf(const Layout &layout,
                           std::pair<unsigned, unsigned> ends, const Arc &arc,
                           bool hasSchedule) {
  std::string text =
      layout.spots[ends.first].name + " -> " + layout.spots[ends.second].name;
  if (arc.links > 1)
    text += ": " + std::to_string(arc.links) + " links";
  bool isWidest = arc.links > 1 && !layout.hubOf.empty();
  text += (isWidest ? ", the widest of bandwidth " : ", bandwidth ") +
          std::to_string(arc.bandwidth);
  if (hasSchedule)
    text += ", " + std::to_string(arc.chunks) + " chunks, busy " +
            std::to_string(int(std::lround(100 * arc.use))) + " %";
  return text;
}

/// Says what the shades mean.
static void drawLegend(Svg &svg, double y) {
  static constexpr std::pair<double, const char *> shades[] = {
      {0, "idle"},
      {0.25, "busy < 50 %"},
      {0.6, "< 80 %"},
      {0.9, "< 100 %"},
      {1, "always"}};
  double x = 20;
  for (auto [use, name] : shades) {
    Svg::set(svg.line({x, y}, {x + 18, y}, shadeOf(use)), "stroke-width", 4.0);
    svg.text({x + 23, y + 4}, name, "faint", "start");
    x += 105;
  }
}

static void drawLinks(Svg &svg, const Layout &layout, bool hasSchedule) {
  uint64_t widest = 1;
  for (const auto &[ends, arc] : layout.arcs)
    widest = std::max(widest, arc.bandwidth);
  svg.into(svg.group("links"));
  for (const auto &[ends, arc] : layout.arcs) {
    auto [src, dst] = ends;
    pugi::xml_node path =
        svg.path(arcPath(layout.spots[src].place, layout.spots[dst].place),
                 shadeOf(arc.use));
    Svg::set(path, "stroke-width",
             1 + 2.5 * std::sqrt(double(arc.bandwidth) / double(widest)));
    Svg::set(path, "data-link",
             std::to_string(src) + "-" + std::to_string(dst));
    Svg::setTitle(path, titleOf(layout, ends, arc, hasSchedule));
  }
  svg.intoAll();
}

/// Names of single ranks go into their circles, longer ones outside.
static void drawName(Svg &svg, const Spot &spot, bool isByRank) {
  Place at = spot.place;
  const char *anchor = "middle";
  if (!isByRank) {
    constexpr double distance = 24, aside = 0.3;
    at.x += distance * spot.outward.x;
    at.y += distance * spot.outward.y;
    anchor = spot.outward.x > aside    ? "start"
             : spot.outward.x < -aside ? "end"
                                       : "middle";
  }
  at.y += 4;
  svg.text(at, spot.name, isByRank ? "" : "faint", anchor);
}

static void drawRanks(Svg &svg, const Layout &layout) {
  svg.into(svg.group("ranks"));
  bool isByRank = layout.isByRank;
  for (size_t i = 0; i < layout.spots.size(); ++i) {
    const Spot &spot = layout.spots[i];
    if (spot.ranks.empty()) {
      Svg::setTitle(svg.circle(spot.place, 7, "rank hub"), spot.name);
      continue;
    }
    pugi::xml_node circle = svg.circle(spot.place, isByRank ? 12 : 16, "rank");
    Svg::set(circle, "data-spot", std::to_string(i));
    Svg::setTitle(circle, (isByRank ? "rank " : "ranks ") + spot.name);
    drawName(svg, spot, isByRank);
  }
  svg.intoAll();
}

std::string report::machinePicture(const Topology &topology,
                                   const RankGroups &boxes,
                                   const Subject *subject, PictureFor use) {
  Layout layout = layOut(topology, boxes, subject);
  double width = std::max(layout.width, subject ? 560.0 : 0.0);
  Svg svg(width, layout.height + 30,
          topology.name() + ", " + std::to_string(topology.numRanks()) +
              " ranks" + (subject ? ", loads of " + subject->name : ""),
          use);
  for (const Layout::Frame &frame : layout.boxes)
    svg.box(frame.corner, frame.size, frame.size, "box");
  drawLinks(svg, layout, subject != nullptr);
  drawRanks(svg, layout);
  if (subject)
    drawLegend(svg, layout.height + 10);
  return svg.str();
}
