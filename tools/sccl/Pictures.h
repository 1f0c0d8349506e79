//===- Pictures.h - What plots and reports show -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PICTURES_H
#define SCCL_TOOLS_SCCL_PICTURES_H

#include "Subjects.h"

#include "sccl/Advice/TimeBound.h"
#include "sccl/Report/Explanation.h"
#include "sccl/Report/Pictures.h"

namespace sccl::driver {

/// How fast a machine is, where copies within a rank are as fast as is assumed.
struct MachineSpeeds {
  Placement placement; ///< its topology
  Fabric fabric;
  std::string boundClass; ///< see MachineFabric

  /// A step takes the largest latency.
  CostModel model() const;
  /// The clock of `topology`, for which isOf() is true: it has the same links
  /// and limits, in an order of its own.
  Timing clockOn(const Topology &topology) const;
};

/// Schedules of one collective on one topology, and what is known of them.
struct ExplainedSchedules {
  std::vector<report::Subject> subjects;
  std::vector<report::Explanation> explanations; ///< of each
  RankGroups boxes;
  CostModel model;
  std::string modelSource = "assumed"; ///< who knows the model
  // If a machine is given:
  std::optional<TimeBound> machineBound;
  std::optional<MachineSpeeds> speeds;
  std::vector<MeasuredTime> measured;
  std::vector<uint64_t> sizes;

  std::optional<Rational> anySteps() const;
};

/// Explains `subjects` for pictures. Prints an error and returns nothing if a
/// certificate does not hold.
std::optional<ExplainedSchedules> findOut(std::vector<report::Subject> subjects,
                                          const CostModel &model);

/// The options that subcommands which draw have in common: --points,
/// --measured, --from, --to, and the model's. What returns nothing, or false,
/// has printed an error.
class PictureFlags {
public:
  explicit PictureFlags(llvm::cl::SubCommand &command);
  bool hasPoints() const { return !points.empty(); }
  bool hasMeasured() const { return !measured.empty(); }
  /// "--NAME" of the first that says of which sizes there are times, and how
  /// long they are; empty if none was given.
  std::string findOfTimes() const;
  /// The same of all.
  std::string findGiven() const;
  std::optional<CostModel> model() const { return modelFlags.get(); }
  const ModelFlags &ofModel() const { return modelFlags; }
  bool hasModel() const { return !modelFlags.findGiven().empty(); }
  /// "--NAME" of the first that is for pages and pictures only; empty if none
  /// was given.
  std::string findOfFiles() const;
  std::optional<std::vector<uint64_t>> sizes() const;
  /// Adds what --measured names.
  bool takeMeasured(ExplainedSchedules &findings) const;
  /// The points of the schedules, their bounds, NCCL's ring, and those of
  /// --points.
  std::optional<std::vector<report::FrontierMark>>
  marks(const ExplainedSchedules &findings) const;

private:
  llvm::cl::opt<std::string> points, measured, from, upTo;
  ModelFlags modelFlags;
};

/// The bound, each schedule in the model, and what was measured.
std::vector<report::TimeCurve> timeCurves(const ExplainedSchedules &findings);

/// What the machine needs at least for `bytes`, however it is done, if R/C is
/// at least `anySteps`. Microseconds.
double leastMicroseconds(const ExplainedSchedules &findings,
                         const std::optional<Rational> &anySteps, double bytes);

/// The speeds of the machine of a preset's name, or of an .mlir file. Prints an
/// error and returns nothing if there is none.
std::optional<MachineSpeeds> loadSpeeds(llvm::StringRef machine);
/// False, after an error, if `topology`, of `subject`, is not that of
/// --machine.
bool isOf(const Placement &machine, llvm::StringRef subject,
          const Topology &topology);

/// Lets the topologies of the schedules in `module`, of which `subject` is the
/// file, have the clock of `machine`, by which lowering chooses thread blocks,
/// as far as they have none. Prints an error and returns false if one is of
/// another machine.
bool setClocks(mlir::ModuleOp module, const MachineSpeeds &machine,
               llvm::StringRef subject);
/// Takes the bound and the model of `speeds`. Prints an error and returns false
/// if `findings` are of another topology.
bool takeSpeeds(const MachineSpeeds &speeds, ExplainedSchedules &findings);
/// The same of what the files say, if they do and the model was not given.
void takeOwnSpeeds(ExplainedSchedules &findings, bool isGiven);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PICTURES_H
