//===- FrontierReport.h - Prints and writes frontiers -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_FRONTIERREPORT_H
#define SCCL_TOOLS_SCCL_FRONTIERREPORT_H

#include "sccl/Search/Frontier.h"
#include "sccl/Solver/Pipelined.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace sccl::driver {

/// What a search over `family` is called.
std::string describe(const Topology &topology, const CollectiveFamily &family);
/// What it is at.
std::string describe(const FrontierActivity &activity);

/// Prints the frontier of one root, as text or JSON, and writes schedules and
/// certificates to `directory` if that is not empty. Topology and family must
/// outlive this.
class FrontierReport {
public:
  /// Of a schedule that is written: more take tens of seconds.
  static constexpr uint64_t maxSends = uint64_t(1) << 24;

  struct Output {
    bool json;
    std::string directory;
    RankGroups boxes; ///< of the topology
    /// Where the topology is not the machine that it was derived from.
    std::vector<std::string> notes = {};
    SumOrder order = {}; ///< that all points keep
  };
  FrontierReport(const Topology &topology, const CollectiveFamily &family,
                 Output output)
      : topology(topology), family(family), output(std::move(output)) {}

  void point(const FrontierPoint &point);
  void point(const TreePoint &point);
  /// What a depth comes down to when pieces follow each other.
  void point(const PipelinedSchedule &result, double seconds);
  void conclusion(const Frontier &frontier);
  /// False if something could not be written; there was an error message.
  bool written() const { return !failed; }

private:
  void header();
  llvm::json::Object common() const;
  template <typename Point> llvm::json::Object shared(const Point &point) const;
  llvm::json::Object object(const FrontierPoint &point) const;
  llvm::json::Object object(const TreePoint &point) const;
  llvm::json::Object object(const Certificate &claim) const;
  void writeGaps(const Frontier &frontier);
  std::string pathOf(const std::string &rest) const;
  void write(const FrontierPoint &point);
  void write(const TreePoint &point);
  void write(const PipelinedSchedule &result);
  void write(const Collective &collective, const Schedule &schedule,
             const LowerBound *bound, llvm::StringRef rounds);

  const Topology &topology;
  const CollectiveFamily &family;
  const Output output;
  bool hasHeader = false, failed = false;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_FRONTIERREPORT_H
