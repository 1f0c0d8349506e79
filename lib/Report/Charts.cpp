//===- Charts.cpp - Frontiers, and times over sizes -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Svg.h"

#include "sccl/Report/Explanation.h"
#include "sccl/Report/Pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using namespace sccl;
using namespace sccl::report;

namespace {
/// One axis of a chart: from which value to which, and where they are.
struct Axis {
  std::string name;
  double least, most; ///< values at its ends
  double begin, end;  ///< coordinates of these
  bool isLog = false;
  std::vector<double> ticks;
  std::function<std::string(double)> label;

  double place(double value) const;
};

/// A chart of two axes with room for a legend at its right.
class Chart {
public:
  static constexpr double width = 800, height = 400, left = 70, right = 480,
                          top = 30, bottom = 350;

  /// Draws the axes, which must be from `left` to `right` and from `bottom` to
  /// `top`.
  Chart(Svg &svg, Axis x, Axis y);

  Place place(double x, double y) const {
    return {xAxis.place(x), yAxis.place(y)};
  }
  pugi::xml_node curve(const std::vector<std::pair<double, double>> &points,
                       const std::string &kind);
  /// Of shape 0 to 3: circle, square, diamond, triangle.
  pugi::xml_node mark(double x, double y, unsigned shape,
                      const std::string &kind);
  /// The next row of the legend: a line, or a mark of that shape.
  void explain(const std::string &name, const std::string &kind,
               std::optional<unsigned> shape);

private:
  pugi::xml_node shapeAt(Place place, unsigned shape, const std::string &kind);

  Svg &svg;
  Axis xAxis, yAxis;
  double legendAt = top + 8;
};
} // namespace

double Axis::place(double value) const {
  auto scaled = [&](double v) { return isLog ? std::log(v) : v; };
  double span = scaled(most) - scaled(least);
  double part = span > 0 ? (scaled(value) - scaled(least)) / span : 0.5;
  return begin + part * (end - begin);
}

/// The ticks of a linear axis that has to show `least` to `most`: round
/// numbers, about `count` of them, whole ones if `isWhole`.
static std::vector<double> linearTicks(double least, double most,
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

/// Powers of `base`, a few at most.
static std::vector<double> powerTicks(double least, double most, double base,
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

static std::string hueOf(size_t number) {
  return "hue" + std::to_string(number % 8);
}

/// "2", "1.25".
static std::string numberText(double value) { return coordinate(value); }

/// A round time: "100 us", "1 ms".
static std::string roundTimeText(double microseconds) {
  // Powers of ten are not exact.
  double value = microseconds * (1 + 1e-9);
  auto [unit, name] = value >= 1e6   ? std::pair{1e6, " s"}
                      : value >= 1e3 ? std::pair{1e3, " ms"}
                                     : std::pair{1.0, " us"};
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g%s", microseconds / unit, name);
  return text;
}

/// Powers of ten, or what is round between two of them.
static std::vector<double> timeTicks(double least, double most) {
  std::vector<double> powers = powerTicks(least, most, 10, 8);
  return powers.size() > 1 ? powers : linearTicks(least, most, 8, false);
}

static Axis frontierAxis(const char *name, double least, double most,
                         bool isHorizontal) {
  Axis axis{name, least, most, 0, 0, false, {}, numberText};
  axis.begin = isHorizontal ? Chart::left : Chart::bottom;
  axis.end = isHorizontal ? Chart::right : Chart::top;
  axis.ticks = linearTicks(least, most, isHorizontal ? 12 : 8, isHorizontal);
  return axis;
}

std::string report::frontierPicture(const std::vector<FrontierMark> &marks,
                                    const std::optional<Rational> &anySteps,
                                    PictureFor use) {
  double mostSteps = 1, mostCost = anySteps ? anySteps->toDouble() : 0;
  std::vector<std::string> series;
  for (const FrontierMark &mark : marks) {
    mostSteps = std::max(mostSteps, mark.steps);
    mostCost = std::max(mostCost, mark.cost);
    if (std::ranges::find(series, mark.series) == series.end())
      series.push_back(mark.series);
  }
  Svg svg(Chart::width, Chart::height, "Frontier: R/C over S", use);
  Chart chart(svg, frontierAxis("S, steps", 0, mostSteps + 1, true),
              frontierAxis("R/C", 0, mostCost * 1.1, false));
  if (anySteps) {
    pugi::xml_node line = chart.curve(
        {{0, anySteps->toDouble()}, {mostSteps + 1, anySteps->toDouble()}},
        "bound hue7");
    Svg::setTitle(line, "no schedule of any number of steps has R/C below " +
                            anySteps->str());
    chart.explain("bound for any S", "bound hue7", std::nullopt);
  }
  for (size_t number = 0; number < series.size(); ++number) {
    std::string kind = hueOf(number);
    for (const FrontierMark &mark : marks)
      if (mark.series == series[number]) {
        pugi::xml_node node =
            chart.mark(mark.steps, mark.cost, unsigned(number), kind);
        Svg::set(node, "data-point", mark.title);
        Svg::setTitle(node, mark.title);
      }
    chart.explain(series[number], kind, unsigned(number));
  }
  return svg.str();
}

std::string report::timePicture(std::vector<TimeCurve> curves, PictureFor use) {
  std::vector<std::pair<double, double>> all;
  for (TimeCurve &curve : curves) {
    // What takes no time has no place on an axis of powers.
    std::erase_if(curve.points,
                  [](const auto &it) { return !(it.second > 0); });
    all.insert(all.end(), curve.points.begin(), curve.points.end());
  }
  if (all.empty())
    all = {{1, 1}, {2, 1}};
  auto bySize = [](const auto &point) { return point.first; };
  auto byTime = [](const auto &point) { return point.second; };
  auto [least, most] = std::ranges::minmax(all, {}, bySize);
  auto [fastest, slowest] = std::ranges::minmax(all, {}, byTime);
  Axis x{"bytes of a send buffer",
         least.first,
         most.first,
         Chart::left,
         Chart::right,
         true,
         powerTicks(least.first, most.first, 2, 8),
         sizeText};
  Axis y{"time",
         fastest.second * 0.9,
         slowest.second * 1.1,
         Chart::bottom,
         Chart::top,
         true,
         timeTicks(fastest.second * 0.9, slowest.second * 1.1),
         roundTimeText};
  Svg svg(Chart::width, Chart::height, "Time over size", use);
  Chart chart(svg, std::move(x), std::move(y));
  for (size_t number = 0; number < curves.size(); ++number) {
    const TimeCurve &curve = curves[number];
    std::string kind = hueOf(number);
    if (curve.isLine)
      Svg::setTitle(chart.curve(curve.points, kind), curve.name);
    for (auto [bytes, time] : curve.points) {
      if (curve.isLine)
        break;
      Svg::setTitle(chart.mark(bytes, time, 2, kind),
                    curve.name + ": " + sizeText(bytes) + ", " +
                        timeText(time));
    }
    chart.explain(curve.name, kind,
                  curve.isLine ? std::nullopt : std::optional(2u));
  }
  return svg.str();
}
