//===- Chart.h - Axes -------------------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_REPORT_CHART_H
#define SCCL_LIB_REPORT_CHART_H

#include "Svg.h"

#include <functional>
#include <string>
#include <vector>

namespace sccl::report {

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

/// The ticks of a linear axis that has to show `least` to `most`: round
/// numbers, about `count` of them, whole ones if `isWhole`.
std::vector<double> linearTicks(double least, double most, unsigned count,
                                bool isWhole);
/// Powers of `base`, a few at most.
std::vector<double> powerTicks(double least, double most, double base,
                               unsigned count);

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

} // namespace sccl::report

#endif // SCCL_LIB_REPORT_CHART_H
