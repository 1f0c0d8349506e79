//===- Chart.cpp - Axes ---------------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chart.h"

#include <algorithm>
#include <cmath>

using namespace sccl;
using namespace sccl::report;

double Axis::place(double value) const {
  auto scaled = [&](double v) { return isLog ? std::log(v) : v; };
  double span = scaled(most) - scaled(least);
  double part = span > 0 ? (scaled(value) - scaled(least)) / span : 0.5;
  return begin + part * (end - begin);
}

std::vector<double> report::linearTicks(double least, double most,
                                        unsigned count, bool isWhole) {
  double rough = std::max((most - least) / count, 1e-9);
  double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (double factor : {1.0, 2.0, 5.0, 10.0})
    if (step < rough)
      step = factor * power;
  if (isWhole)
    step = std::max(step, 1.0);
  std::vector<double> ticks;
  for (double tick = std::ceil(least / step - 1e-9) * step;
       tick <= most + step * 1e-9; tick += step)
    ticks.push_back(tick);
  return ticks;
}

std::vector<double> report::powerTicks(double least, double most, double base,
                                       unsigned count) {
  double first = std::ceil(std::log(least) / std::log(base) - 1e-9);
  double last = std::floor(std::log(most) / std::log(base) + 1e-9);
  double step = std::max(std::ceil((last - first) / count), 1.0);
  std::vector<double> ticks;
  for (double power = first; power <= last; power += step)
    ticks.push_back(std::pow(base, power));
  return ticks;
}

Chart::Chart(Svg &svg, Axis x, Axis y)
    : svg(svg), xAxis(std::move(x)), yAxis(std::move(y)) {
  svg.into(svg.group("axes"));
  for (double tick : xAxis.ticks) {
    double at = xAxis.place(tick);
    svg.line({at, top}, {at, bottom}, "grid");
    svg.text({at, bottom + 17}, xAxis.label(tick), "", "middle");
  }
  for (double tick : yAxis.ticks) {
    double at = yAxis.place(tick);
    svg.line({left, at}, {right, at}, "grid");
    svg.text({left - 8, at + 4}, yAxis.label(tick), "", "end");
  }
  svg.line({left, bottom}, {right, bottom}, "axis");
  svg.line({left, top}, {left, bottom}, "axis");
  svg.text({(left + right) / 2, bottom + 40}, xAxis.name, "head", "middle");
  svg.text({left, top - 12}, yAxis.name, "head", "middle");
  svg.intoAll();
}

pugi::xml_node
Chart::curve(const std::vector<std::pair<double, double>> &points,
             const std::string &kind) {
  std::string path;
  for (auto [x, y] : points) {
    Place at = place(x, y);
    path += (path.empty() ? "M " : " L ") + coordinate(at.x) + " " +
            coordinate(at.y);
  }
  return svg.path(path, "curve " + kind);
}

pugi::xml_node Chart::shapeAt(Place at, unsigned shape,
                              const std::string &kind) {
  if (shape % 4 == 0)
    return svg.circle(at, 8, "open " + kind); // others fit into it
  if (shape % 4 == 1)
    return svg.box({at.x - 3.5, at.y - 3.5}, 7, 7, "mark " + kind);
  auto corner = [&](double dx, double dy) {
    return coordinate(at.x + dx) + " " + coordinate(at.y + dy);
  };
  std::string path = "M " + corner(0, -6) + " L " + corner(6, 0) + " L " +
                     corner(0, 6) + " L " + corner(-6, 0) + " Z";
  if (shape % 4 == 3)
    path = "M " + corner(0, -6) + " L " + corner(6, 5) + " L " + corner(-6, 5) +
           " Z";
  return svg.path(path, "mark " + kind);
}

pugi::xml_node Chart::mark(double x, double y, unsigned shape,
                           const std::string &kind) {
  return shapeAt(place(x, y), shape, kind);
}

void Chart::explain(const std::string &name, const std::string &kind,
                    std::optional<unsigned> shape) {
  Place at{right + 30, legendAt};
  if (shape)
    shapeAt(at, *shape, kind);
  else
    svg.line({at.x - 10, at.y}, {at.x + 10, at.y}, "curve " + kind);
  pugi::xml_node text = svg.text({at.x + 18, at.y + 4}, name, "", "start");
  // What is longer would be cut off, perhaps within a number.
  constexpr size_t mostLetters = 40;
  if (name.size() > mostLetters) {
    Svg::set(text, "textLength", width - (at.x + 18) - 6);
    Svg::set(text, "lengthAdjust", "spacingAndGlyphs");
  }
  legendAt += 20;
}
