//===- Charts.cpp - Frontiers, and times over sizes -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chart.h"

#include "sccl/Report/Explanation.h"
#include "sccl/Report/Pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace sccl;
using namespace sccl::report;

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
