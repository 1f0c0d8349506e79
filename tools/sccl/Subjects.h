//===- Subjects.h - What explanations and pictures are about ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_SUBJECTS_H
#define SCCL_TOOLS_SCCL_SUBJECTS_H

#include "Driver.h"

#include "sccl/Model/CostModel.h"
#include "sccl/Report/Subject.h"

#include <vector>

namespace sccl::driver {

/// The names of the .mlir files in the folder `path`, in order; or `path` if it
/// is no folder. Prints an error and returns nothing if there are none.
std::optional<std::vector<std::string>> schedulesIn(llvm::StringRef path);

/// The schedules in `path`, an .mlir file, a folder of such, in the order of
/// names, a plan or a file of another tool; all of them checked. Prints an
/// error and returns nothing if there are none, or one is wrong. For
/// `placement`, here and below, see Session::parseSchedules.
std::optional<std::vector<report::Subject>>
loadSubjects(llvm::StringRef path, const Placement *placement = nullptr);

/// Those of several files and folders; they must be of one collective on one
/// topology. Prints an error and returns nothing if they are not.
std::optional<std::vector<report::Subject>>
loadComparable(llvm::ArrayRef<std::string> paths,
               const Placement *placement = nullptr);

/// A launch that was measured: a line of what sccl bench and run print with
/// --json.
struct MeasuredTime {
  std::string schedule; ///< its name in the plan; empty if the line has none
  std::string collective;
  unsigned ranks = 0;
  uint64_t bytes = 0;      ///< of a send buffer
  double microseconds = 0; ///< of a launch
  std::string source;      ///< as "bench.json, ranks as threads"
};

/// Reads such lines. Prints an error and returns nothing if there are none, or
/// one is something else, or is not of the collective and ranks of `subject`.
std::optional<std::vector<MeasuredTime>>
loadMeasuredOf(const report::Subject &subject, llvm::StringRef path);

/// The cost model by the clock of a machine: the longest latency, and what a
/// byte takes at bandwidth 1.
CostModel modelOf(const Topology &topology, const Timing &timing);

/// "0.4 us a step and 25 GB/s at bandwidth 1 (assumed)"; `source` says who
/// knows.
std::string clockText(const CostModel &model, llvm::StringRef source);

/// --alpha and --bandwidth of a subcommand.
class ModelFlags {
public:
  explicit ModelFlags(llvm::cl::SubCommand &command);
  /// Prints an error and returns nothing if the numbers make no sense.
  std::optional<CostModel> get() const;
  /// "--NAME" of the first that was given; empty if none was.
  std::string findGiven() const;
  /// `usual` with what is given in its place.
  CostModel over(CostModel usual) const;

private:
  llvm::cl::opt<double> alpha, bandwidth;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_SUBJECTS_H
