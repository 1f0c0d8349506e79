//===- Pictures.h - Machines, frontiers and schedules as SVG ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal arguments give equal bytes. Elements that stand for something have a
// class that says what, and a <title> that says it in words, for those who
// point at them, and for tests.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_REPORT_PICTURES_H
#define SCCL_REPORT_PICTURES_H

#include "sccl/Model/RankGroups.h"
#include "sccl/Report/Subject.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl::report {

/// Whether a picture stands alone, with colours of its own, or in a page that
/// has them; or becomes an image, in light colours.
enum class PictureFor { File, Page, Image };

/// Ranks that are drawn as one: all by themselves up to `most`; of more, those
/// of each of `boxes`, or neighbours if there is but one box.
RankGroups groupsToDraw(const Topology &topology, const RankGroups &boxes,
                        unsigned most = 64);

/// The ranks of each box as the topology tells: those that links of the
/// greatest bandwidth join. All in one if that says nothing.
RankGroups guessBoxes(const Topology &topology);

/// The ranks of each box that the file of `subject` says, else those guessed.
RankGroups boxesOf(const Subject &subject);

/// Ranks and links; links are wide as they can carry, and darker the more of
/// that they do if `subject` has a schedule.
std::string machinePicture(const Topology &topology, const RankGroups &boxes,
                           const Subject *subject, PictureFor use);

/// A point of a frontier.
struct FrontierMark {
  std::string series; ///< as "found", "bound", "NCCL's ring"; one shape each
  std::string title;
  double steps, cost; ///< S and R/C
};
std::string frontierPicture(const std::vector<FrontierMark> &marks,
                            const std::optional<Rational> &anySteps,
                            PictureFor use);

/// Times by size.
struct TimeCurve {
  std::string name;
  bool isLine = true; ///< else marks, as of measurements
  std::vector<std::pair<double, double>> points; ///< bytes, microseconds
};
std::string timePicture(std::vector<TimeCurve> curves, PictureFor use);

/// Ranks from top to bottom, steps from left to right, and a line for what a
/// rank sends to another one in a step.
std::string stepsPicture(const Subject &subject, const RankGroups &groups,
                         PictureFor use);

/// The ways of up to `most` chunks, evenly chosen, step by step from top to
/// bottom.
std::string treesPicture(const Subject &subject, unsigned most, PictureFor use);

} // namespace sccl::report

#endif // SCCL_REPORT_PICTURES_H
