//===- Page.h - A report as one HTML file -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_REPORT_PAGE_H
#define SCCL_REPORT_PAGE_H

#include "sccl/Report/Explanation.h"
#include "sccl/Report/Pictures.h"

namespace sccl::report {

/// A launch that was measured, in words.
struct MeasuredRow {
  std::string size, time, timesBound, source;
};

/// What a page shows. There is at least one schedule, and an explanation for
/// each; all are of one collective on one topology.
struct PageContents {
  const std::vector<Subject> &subjects;
  const std::vector<Explanation> &explanations;
  const RankGroups &boxes;
  CostModel model;
  double bytes; ///< of a send buffer, for sentences
  std::vector<FrontierMark> marks;
  std::optional<Rational> anySteps;
  std::vector<TimeCurve> curves;
  std::vector<MeasuredRow> measured;
  std::string clock = {}; ///< what `model` is, and who knows it
};

/// The title of the mark of a schedule in a frontier.
std::string titleOfPoint(const Subject &subject,
                         const Explanation &explanation);

/// A file that needs no other one, and no network. Ranks of large machines are
/// drawn in groups, so that it has some megabytes at most.
std::string pageText(const PageContents &contents);

} // namespace sccl::report

#endif // SCCL_REPORT_PAGE_H
