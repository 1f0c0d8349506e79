//===- Subject.h - What a report is about -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_REPORT_SUBJECT_H
#define SCCL_REPORT_SUBJECT_H

#include "sccl/Check/Certificate.h"
#include "sccl/Model/RankGroups.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Simulate/Simulator.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl::report {

/// A schedule that the checker accepts, and the certificate in its file.
struct Subject {
  std::string name; ///< as "ag.mlir:@all_gather"
  Topology topology;
  Collective collective;
  Schedule schedule;
  std::optional<Certificate> certificate;
  /// Where `sccl plan` found it the best, by simulation, in which way; nowhere
  /// if it is a spare. Sizes ascend.
  struct BestAt {
    uint64_t bytes; ///< of a send buffer
    double microseconds;
    std::string way; ///< as "scratch in 4 pieces"
  };
  std::optional<std::vector<BestAt>> bestAt = std::nullopt;
  RankGroups boxes = {}; ///< the ranks of each; empty if the file says nothing
  /// How fast the machine is; nothing if the file does not say so.
  std::optional<Timing> timing = std::nullopt;

  Cost cost() const { return costOf(schedule, collective); }
};

/// "all_gather", with its root if it has one.
std::string describe(const Collective &collective);
/// "C = 6, S = 3, R = 7", and the period of a pipelined schedule.
std::string describeSize(const Subject &subject);

/// What one limit carries of a schedule.
struct LimitLoad {
  unsigned limit;
  uint64_t chunks = 0; ///< in all steps together
  /// Rounds that it needs for them: chunks over bandwidth.
  Rational rounds;
};

/// The loads of all limits, the fullest first, of equal ones in the order of
/// the topology.
std::vector<LimitLoad> loadsOf(const Subject &subject);

/// Chunks over each link, by its index, in all steps together.
std::vector<uint64_t> chunksOfLinks(const Topology &topology,
                                    const Schedule &schedule);

/// "0 -> 1", or "0 -> 1 and 3 more" for several links.
std::string nameOf(const Topology &topology, const BandwidthLimit &limit);

} // namespace sccl::report

#endif // SCCL_REPORT_SUBJECT_H
