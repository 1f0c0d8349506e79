//===- PlanRank.h - One rank that tests and measures a plan -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MEASURE_PLANRANK_H
#define SCCL_MEASURE_PLANRANK_H

#include "sccl/Measure/ClockOffsets.h"
#include "sccl/Measure/Ranks.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/ElementType.h"
#include "sccl/Model/Result.h"
#include "sccl/Plan/Plan.h"
#include "sccl/sccl-trace.h"

#include <memory>
#include <optional>
#include <string>

namespace sccl {

/// The collective that a plan implements, with one chunk per segment. Fails if
/// the plan neither has the name of one nor conditions.
Result<Collective> collectiveOf(const plan::Manifest &manifest);

struct MeasureRequest {
  uint64_t count; ///< elements per segment
  ElementType element = *findElementType("f32");
  Reduction reduction = Reduction::Sum;
  bool inPlace = false;
  bool registered = true;   ///< buffers from scclMemAlloc
  unsigned verified = 1;    ///< launches whose outputs are compared
  double verifySeconds = 0; ///< for these together; 0: no limit
  unsigned batches = 0;     ///< timed, after the verified launches
  unsigned launches = 1;    ///< per batch
  bool traced = false;      ///< record the last batch, see PlanRank::trace
  /// No further batch after so much time, but three at least; 0: no limit.
  double secondsLimit = 0;
};

struct Measurement {
  uint64_t elements = 0, wrong = 0; ///< of all ranks and verified launches
  std::string firstWrong;           ///< "launch 3, rank 1, output element ..."
  uint64_t outputHash = 0;          ///< of this rank, if ranks are to agree
  /// Of a launch: per batch the mean on the slowest rank, of these the least.
  double seconds = 0;
};

/// Fails if the buffers of all ranks of a plan do not fit in the memory of this
/// machine.
std::optional<Error> checkMemory(const plan::Manifest &manifest,
                                 const MeasureRequest &request);

/// A communicator and its buffers.
class PlanRank {
public:
  /// Collective. `bytes` is the plan, which must stay, as `manifest` must,
  /// which was read from it. Fails on ranks where it cannot be loaded, or the
  /// others not be joined, with libsccl's message.
  static Result<std::unique_ptr<PlanRank>>
  create(llvm::StringRef bytes, const plan::Manifest &manifest,
         const RankEnd &end, const scclConfig &config);
  ~PlanRank();

  /// Collective. Verified launches follow each other without any reset or
  /// barrier in between, with other data each time; every element of every
  /// output is compared, and of an all_reduce in an order ranks have the same
  /// bits. All ranks get the same measurement; fails on all of them if one
  /// fails, also if a program writes beside the buffers, or if time is over.
  Result<Measurement> measure(const MeasureRequest &request);

  /// By rank, what was done in the last batch that was traced, in the order in
  /// which it began; times are from the first event on. Ranks on several hosts
  /// have clocks of their own: times are rank 0's there, as near as exchanges
  /// before and after the batch tell. Those of GPUs are as near as the signals
  /// of the program tell.
  using Trace = std::vector<std::vector<scclTraceEvent>>;
  /// Collective. Fails on all ranks if one had no memory to record it.
  Result<Trace> trace();

  /// Collective. Leaves the communicator; fails on all ranks if a program has
  /// written beside the memory of one.
  Result<bool> leave();

  /// What a launch of `request` takes. Fails as `measure` does.
  Result<scclChoice> choice(const MeasureRequest &request) const;

  scclComm comm() const { return theComm; }
  scclPlan loadedPlan() const { return plan; }
  const Collective &collective() const { return theCollective; }

private:
  static constexpr const char *hasGone =
      "a rank has gone, or cannot be reached";
  struct Buffers;
  PlanRank(Collective collective, const plan::Manifest &manifest,
           const RankEnd &end, bool isHost)
      : theCollective(std::move(collective)), manifest(manifest), end(end),
        isHost(isHost) {}

  Result<bool> allocate(const MeasureRequest &request, Buffers &buffers);
  void release(Buffers &buffers);
  Result<bool> agree(const std::string &error) const;
  std::string verify(const MeasureRequest &request, Buffers &buffers,
                     Measurement &result);
  Result<double> time(const MeasureRequest &request, const Buffers &buffers);
  bool record(const MeasureRequest &request, scclResult &code);
  Result<bool> addUp(Measurement &result) const;
  scclResult launch(const MeasureRequest &request, const Buffers &buffers);
  scclResult settle(const Buffers &buffers);
  scclResult launchVerified(const MeasureRequest &request, Buffers &buffers);

  Collective theCollective;
  const plan::Manifest &manifest;
  RankEnd end;
  bool isHost; ///< the device is the CPU
  scclPlan plan = nullptr;
  scclComm theComm = nullptr;
  std::vector<ClockOffset> clocksBefore; ///< the last batch, by rank
  uint64_t recordedFrom = 0;             ///< on the clock of the host
};

/// Sets times of ranks to what rank 0's clock would say, see onFirstClock; by
/// rank, how far clocks were ahead before and after.
void alignClocks(PlanRank::Trace &trace, const std::vector<ClockOffset> &before,
                 const std::vector<ClockOffset> &after);

/// Between which times of the host all events of a rank are, in nanoseconds.
struct HostWindow {
  uint64_t from, to;
};

/// Sets times of ranks whose clocks have nothing to do with each other to those
/// of the host, so that no wait ends before the signal that it waited for has
/// begun: in the middle of where clocks can be. Changes nothing where nobody
/// waits for a signal of another rank.
void alignByMessages(PlanRank::Trace &trace,
                     const std::vector<HostWindow> &windows);

} // namespace sccl

#endif // SCCL_MEASURE_PLANRANK_H
