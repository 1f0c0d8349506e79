//===- Tune.cpp - sccl bench --tune ---------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The empirical search of the SCCL paper: every schedule, as every program that
// the plan has of it (variant, code shape, blocks per channel), is measured for
// every size, and so is the way in which buffers reach it.
//
//===----------------------------------------------------------------------===//

#include "Tune.h"

#include "Output.h"
#include "Progress.h"

#include "sccl/Plan/SizeTables.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace sccl;
using namespace sccl::driver;

namespace {
/// Measures on one rank; all ranks take the same way through this.
class Tuner {
public:
  Tuner(const TuneRequest &tune, PlanRank &rank, const RankEnd &end)
      : tune(tune), manifest(tune.plan.view.manifest), rank(rank) {
    if (end.rank == 0)
      progress.emplace("tuning");
  }

  /// Fills in `table`; returns an error or "".
  std::string run(plan::SizeTable &table) {
    uint64_t previous = 0;
    for (uint64_t size : tune.sizes) {
      std::optional<plan::SizeChoice> best;
      double bestSeconds = 0;
      if (std::string error = findBest(size, best, bestSeconds); !error.empty())
        return error;
      // The border between two sizes is half-way in proportion.
      uint64_t border = std::sqrt(double(previous) * double(size));
      best->firstByte = table.choices.empty() ? 0 : border;
      previous = size;
      table.times.push_back({size, uint64_t(std::llround(bestSeconds * 1e9))});
      if (table.choices.empty() || !isSame(table.choices.back(), *best))
        table.choices.push_back(*best);
    }
    return "";
  }

private:
  static bool isSame(const plan::SizeChoice &a, const plan::SizeChoice &b) {
    return a.program == b.program && a.path == b.path &&
           a.pieceBytes == b.pieceBytes;
  }

  /// The numbers of the programs, that which the plan takes for `size` without
  /// a measurement first: of what is about as fast it stays.
  std::vector<unsigned> programsFor(uint64_t size) const {
    std::vector<unsigned> programs;
    for (unsigned program = 0; program < manifest.programs.size(); ++program)
      programs.push_back(program);
    auto model = llvm::find_if(manifest.tables, [](const auto &table) {
      return table.source == "model";
    });
    if (model == manifest.tables.end())
      return programs;
    unsigned first = choiceFor(*model, double(size))->program;
    std::rotate(programs.begin(), programs.begin() + first,
                programs.begin() + first + 1);
    return programs;
  }

  /// The ways to launch `segmentBytes`, the simplest first.
  std::vector<plan::SizeChoice> candidates(uint64_t size,
                                           uint64_t segmentBytes) const {
    std::vector<plan::SizeChoice> result;
    for (unsigned program : programsFor(size)) {
      const plan::ProgramEntry &info = manifest.programs[program];
      bool touchesPeers = info.peersReadInput || info.peersTouchOutput;
      for (plan::Path path : {plan::Path::Staging, plan::Path::Direct})
        for (uint64_t piece : {0, 32 << 10, 128 << 10, 512 << 10, 1 << 20}) {
          bool matters = piece < segmentBytes;
          if (matters && (touchesPeers || path == plan::Path::Direct))
            result.push_back({0, program, path, piece});
        }
    }
    return result;
  }

  std::string findBest(uint64_t size, std::optional<plan::SizeChoice> &best,
                       double &bestSeconds) {
    MeasureRequest request;
    request.element = elementType(tune.element);
    request.reduction = tune.reduction;
    request.count = size / manifest.sendSegments / request.element.bytes;
    request.batches = tune.batches;
    request.launches = launchesForSize(size);
    uint64_t segmentBytes = request.count * request.element.bytes;
    std::vector<plan::SizeChoice> all = candidates(size, segmentBytes);
    std::vector<double> seconds(all.size(), 0);
    request.secondsLimit = secondsPerTurn;
    double limit = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      request.verified = round == 0;
      for (size_t i = 0; i < all.size(); ++i) {
        showProgress(size, round * all.size() + i, rounds * all.size());
        if (limit != 0 && seconds[i] > limit)
          continue;
        std::string error = measureOne(request, all[i], seconds[i]);
        if (!error.empty())
          return error;
      }
      limit = hopeless * fastest(seconds);
    }
    showProgress(size, rounds * all.size(), rounds * all.size());
    // Of what is about as fast, the simplest.
    constexpr double noise = 1.03;
    for (size_t i = 0; i < all.size(); ++i)
      if (seconds[i] > 0 && (!best || seconds[i] * noise < bestSeconds)) {
        best = all[i];
        bestSeconds = seconds[i];
      }
    return best ? "" : "no program of the plan runs on this device";
  }

  /// The least of `seconds`, without those that were not measured; 0 if none
  /// was.
  static double fastest(const std::vector<double> &seconds) {
    double least = 0;
    for (double value : seconds)
      if (value > 0 && (least == 0 || value < least))
        least = value;
    return least;
  }

  /// Lowers `seconds` if the choice is faster this time. What is for other
  /// devices is passed over, by all ranks alike.
  std::string measureOne(const MeasureRequest &request,
                         const plan::SizeChoice &candidate, double &seconds) {
    scclChoice choice = {};
    choice.size = sizeof(choice);
    choice.program = candidate.program;
    choice.path = scclPath(candidate.path);
    choice.pieceBytes = candidate.pieceBytes;
    if (scclCommSetChoice(rank.comm(), rank.loadedPlan(), &choice) !=
        scclSuccess)
      return "";
    Result<Measurement> measured = rank.measure(request);
    if (!measured)
      return measured.error();
    if (measured->wrong != 0)
      return "wrong result in " + measured->firstWrong;
    if (seconds == 0 || measured->seconds < seconds)
      seconds = measured->seconds;
    return "";
  }

  void showProgress(uint64_t size, size_t done, size_t total) {
    if (progress)
      progress->setDetail(llvm::formatv("{0}: {1} of {2} measurements",
                                        formatBytes(size), done, total));
  }

  /// All candidates take turns, so that a busy moment of the machine does not
  /// hit one of them alone.
  static constexpr unsigned rounds = 4;
  /// Of the fastest one's time: who took longer gets no more turns.
  static constexpr double hopeless = 1.5;
  static constexpr double secondsPerTurn = 0.2;
  const TuneRequest &tune;
  const plan::Manifest &manifest;
  PlanRank &rank;
  std::optional<Progress> progress; ///< of rank 0
};
} // namespace

/// Puts `table` into the plan, in place of an earlier one for the same device.
static int writeTuned(const TuneRequest &request, plan::SizeTable table) {
  Result<plan::Plan> read = plan::readPlan(request.plan.file->getBuffer());
  if (!read)
    return fail(read.error());
  plan::Plan &plan = *read;
  llvm::erase_if(plan.manifest.tables, [&](const plan::SizeTable &other) {
    return other.source == table.source && other.target == table.target &&
           other.ranksAs == table.ranksAs;
  });
  out() << "fastest on " << table.target << ", ranks as " << table.ranksAs
        << ":\n"
        << describeTable(plan.manifest, table);
  plan.manifest.tables.push_back(std::move(table));
  Result<std::string> bytes = plan::serialize(plan);
  if (!bytes)
    return fail(bytes.error());
  return writeFile(request.output, *bytes) ? Done : BadInput;
}

/// What one rank does. Rank 0 prints and writes.
static int tuneRank(const TuneRequest &request, const RankEnd &end) {
  auto report = [&](llvm::StringRef error) { return failOnRank(end, error); };
  Result<std::unique_ptr<PlanRank>> rank = PlanRank::create(
      request.plan.file->getBuffer(), request.plan.view.manifest, end,
      request.device.config(end.rank, request.timeout));
  if (!rank)
    return report(rank.error());
  plan::SizeTable table;
  std::string error = Tuner(request, **rank, end).run(table);
  if (!error.empty())
    return report(error);
  const char *target = "";
  scclQueryTarget((*rank)->comm(), &target);
  table.source = "measured";
  table.target = target;
  bool areThreads = request.kind == RanksAs::Threads;
  table.ranksAs =
      ranksAsName(areThreads ? RanksAs::Threads : RanksAs::Processes);
  return end.rank == 0 ? writeTuned(request, std::move(table)) : Done;
}

int driver::tunePlan(TuneRequest request) {
  const plan::Manifest &manifest = request.plan.view.manifest;
  uint64_t least = manifest.sendSegments * elementType(request.element).bytes;
  if (!dropEmpty(request.sizes, least) || !checkWritable(request.output))
    return BadInput;
  return startRanks(manifest.ranks, request.kind, request.timeout,
                    [&](const RankEnd &end) { return tuneRank(request, end); });
}
