//===- PlanBuilder.h - From schedules to a plan -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PLAN_PLANBUILDER_H
#define SCCL_PLAN_PLANBUILDER_H

#include "sccl/Codegen/Target.h"
#include "sccl/Dialect/Coll/Way.h"
#include "sccl/Model/CostModel.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Plan/Plan.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace sccl {

struct AdvisedProgram;
class KernelCompiler;
class LoweredProgram;
struct SizedSchedule;
class ScheduleCheck;

namespace coll {
class ProgramOp;
class ScheduleOp;
struct Problem;
} // namespace coll

/// Names of ways to lower a schedule.
struct VariantChoice {
  std::vector<std::string> taken;
  std::vector<std::string> leftOut; ///< as they would take too long
};

/// Whether code for CPUs is for tests, and what executes it there.
enum class Instrument { No, Ranks, Channels };

/// Machine code, by what it depends on.
using KnownCode = std::map<std::string, std::string>;

/// What to put into a plan.
struct PlanRequest {
  /// "host", "mpi", "mpi/sm_90", "sm_90", "gfx942", ...
  std::vector<std::string> targets;
  std::vector<Element> elements;      ///< of combining collectives
  std::vector<Reduction> reductions;  ///< each with each element
  std::vector<unsigned> blocks = {0}; ///< see LoweringOptions
  std::vector<unsigned> pieces = {1}; ///< of each chunk, for each schedule
  /// Names of ways to lower each schedule (Ways.h), beside those that it names
  /// itself. If empty, and a schedule names none, then push, pull, scratch and
  /// dma, or as many as `rangeBudget` allows; a remark says which are left out.
  std::vector<std::string> variants;
  /// Ranges of chunks that the variants of a schedule send together, at most,
  /// but for one variant: about ten seconds' work. hypercube:8 has 66 thousand
  /// in each variant, hypercube:10 a million.
  uint64_t rangeBudget = 1 << 19;
  std::vector<CodeShapeChoice> shapes = {CodeShapeChoice::Auto};
  LoweringOptions lowering; ///< all that is not said here
  /// Machine code for NVIDIA chips in place of PTX: it loads faster, on chips
  /// of the same major version only. Needs ptxas.
  bool assemble = false;
  /// For AMD chips the text that a code object is made of, which only tests can
  /// execute.
  bool asText = false;
  /// Code for CPUs that runs in tests only, see HostSteps.h.
  Instrument instrument = Instrument::No;
  /// Chooses schedules by size until somebody measures. Without one the ways
  /// of the schedules do, if one says for which sizes it is the best, and else
  /// `usualModel`.
  std::optional<CostModel> model;
  std::string generator; ///< goes into the plan
  /// Code of other plans, to be used again, and to get that of this one.
  KnownCode *known = nullptr;
  /// If any, so many threads compile what is lowered, without a look at `known`
  /// (PlanBuilder::awaitCode). What they say is to be ignored.
  unsigned threads = 0;
  /// Told what is compiled next, if there is somebody to tell.
  std::function<void(const std::string &)> watch = {};

  /// `variants`, or those that there are to choose from.
  std::vector<std::string> variantNames() const;
  /// The variants of a schedule that sends `ranges` ranges of chunks. One is
  /// enough to launch with any buffers; the others are for the tuner.
  VariantChoice variantsFor(uint64_t ranges, bool combining) const;
};

/// The CPU that a target name stands for: itself, or for "host" the one that
/// sccl compiles for by default. Nothing if it is no CPU.
std::optional<std::string> findHostTarget(llvm::StringRef name);

/// True for "mpi": ranks that exchange messages, on any hosts. Their programs
/// are plain pushes, whatever the variants, and what they compute is done by
/// code for the CPU that "host" is. Also true for "mpi/sm_90": the same, with
/// code that does it on GPUs, too.
bool isMessageTarget(llvm::StringRef name);

/// The chip that code for a target runs on: "sm_90" of that name, and of
/// "mpi/sm_90". Of others the name, which is no chip's.
llvm::StringRef chipOf(llvm::StringRef name);

/// True if no GPU takes part: the ranks of the target run on CPUs.
bool isCPUTarget(llvm::StringRef name);

/// Compiles schedules and collects them.
class PlanBuilder {
public:
  explicit PlanBuilder(PlanRequest request);
  ~PlanBuilder();

  /// Adds every schedule in `module`, in each way that it names or that is
  /// asked for. Emits an error and fails if there is none, one is not of the
  /// same collective, root, ranks and topology as those before it, is equal to
  /// one of them without naming ways of its own, or cannot be compiled for all
  /// targets. Of programs with the same code, the plan gets the first. A
  /// schedule whose name is taken becomes NAME_1, NAME_2, ... Where all ranks
  /// must reduce in one order, ways in which they do not are left out, and a
  /// remark says so.
  llvm::LogicalResult add(mlir::ModuleOp module);

  /// Adds the one schedule or program in `module`, lowered as the options say
  /// and with the first shape; nothing else may be added. Emits an error and
  /// fails if there is another number of them, or if it cannot be compiled.
  llvm::LogicalResult addAsGiven(mlir::ModuleOp module);

  /// Waits for code that other threads compile, for which the contexts of what
  /// was added must be there. Fails if there is none for some kernel, or if two
  /// programs turn out to be the same: the plan is to be made again without
  /// threads then, to hear why or to get one for both.
  llvm::LogicalResult awaitCode();

  /// False before something is added, and if all that was is left out.
  bool hasSchedules() const { return !schedules.empty(); }
  /// The plan, with choices by size, see PlanRequest::model. Must have
  /// schedules.
  plan::Plan finish();

private:
  /// Of what a schedule sends.
  using Digest = std::array<uint64_t, 2>;
  /// A way to lower a schedule, and all options for it.
  struct PlannedWay {
    std::string name; ///< see Ways.h
    coll::Way way;
    LoweringOptions options;
  };
  /// A schedule in pieces, and how it is lowered.
  struct Cut {
    std::vector<coll::Way> ways;
    bool isNamed; ///< by the schedule; else these are what there is to choose
  };

  mlir::FailureOr<std::vector<Cut>> cutsOf(coll::ScheduleOp schedule) const;
  mlir::LogicalResult addCuts(coll::ScheduleOp schedule);
  llvm::LogicalResult addSchedule(coll::ScheduleOp schedule, const Cut &cut);
  llvm::LogicalResult checkProblem(mlir::Operation *op,
                                   const coll::Problem &problem);
  std::vector<PlannedWay> waysToLower(coll::ScheduleOp op, const Cut &cut,
                                      uint64_t ranges) const;
  void dropUnlikeOrders(coll::ScheduleOp op, ScheduleCheck &check,
                        mlir::ModuleOp module, std::vector<PlannedWay> &ways,
                        bool isNamed, const Collective &collective) const;
  std::optional<unsigned> findKnown(unsigned chunks,
                                    const Digest &digest) const;
  void makeNameUnique(coll::ScheduleOp schedule) const;
  llvm::LogicalResult addWay(mlir::ModuleOp module, ScheduleCheck &check,
                             const PlannedWay &way,
                             const Collective &collective);
  void setSource(unsigned program, const coll::Way &way);
  llvm::LogicalResult addProgram(mlir::ModuleOp module, ScheduleCheck &check,
                                 const LoweringOptions &options,
                                 llvm::StringRef variant,
                                 const Collective &collective);
  llvm::LogicalResult addSymbols(LoweredProgram &program,
                                 const LoweringOptions &options,
                                 plan::KernelInfo &kernel);
  llvm::LogicalResult addKernels(LoweredProgram &program,
                                 const LoweringOptions &options);
  llvm::LogicalResult addMessages(mlir::ModuleOp module, unsigned pieces,
                                  const Collective &collective);
  bool hasOnlyMessages() const;
  llvm::LogicalResult addMessageProgram(coll::ProgramOp program,
                                        unsigned pieces,
                                        LoweredProgram &kernels,
                                        const LoweringOptions &options,
                                        const Collective &collective);
  unsigned addTables(const plan::RankTableSet &tables);
  ReductionSet allSets() const;
  std::vector<ReductionSet> setsAtSwitch(const Chip &chip) const;
  llvm::LogicalResult addKernel(LoweredProgram &program,
                                const LoweringOptions &options,
                                const ReductionSet &set,
                                plan::KernelInfo kernel);
  std::optional<unsigned> findRepeated(unsigned last) const;
  void dropProgram();
  std::vector<unsigned> blocksToBuild() const;

  /// The order of summation of all programs.
  SumOrder commonOrder() const;
  /// True if all programs round sums of small floats once.
  bool haveOneRounding() const;

  SumOrder askedOrder; ///< of summation
  PlanRequest request; ///< with an order if results depend on it
  std::unique_ptr<KernelCompiler> compiler;
  plan::Plan result;
  std::vector<SizedSchedule> schedules; ///< by number
  std::vector<Digest> digests;          ///< likewise
  std::vector<AdvisedProgram> advised;
  bool isAdvised = true; ///< all schedules name their ways
  /// Of the schedule that is added: the number in the plan of what it is in
  /// pieces, its name, and its ways so far.
  unsigned number = 0;
  std::string symbol;
  std::vector<coll::Way> lowered;
  std::vector<std::string> sources; ///< packed modules
};

} // namespace sccl

#endif // SCCL_PLAN_PLANBUILDER_H
