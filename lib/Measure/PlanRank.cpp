//===- PlanRank.cpp - One rank that tests and measures a plan -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include "TestData.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/ABI/TraceClock.h"
#include "sccl/Model/AvailableMemory.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

using namespace sccl;

using Clock = std::chrono::steady_clock;

static Result<Collective> customOf(const plan::Manifest &manifest) {
  const plan::Conditions &conditions = *manifest.conditions;
  auto setOf = [&](const std::vector<std::vector<unsigned>> &chunks) {
    RankChunkSet set(manifest.ranks, conditions.distinct);
    for (unsigned rank = 0; rank < manifest.ranks; ++rank)
      for (unsigned chunk : chunks[rank])
        set.insert(rank, chunk);
    return set;
  };
  return Collective::makeCustom(manifest.collective, conditions.chunks,
                                manifest.combining, setOf(conditions.pre),
                                setOf(conditions.post));
}

Result<Collective> sccl::collectiveOf(const plan::Manifest &manifest) {
  if (manifest.conditions)
    return customOf(manifest);
  std::optional<CollectiveKind> kind = parseCollectiveName(manifest.collective);
  if (!kind || *kind == CollectiveKind::Custom)
    return Error{"the plan is for '" + manifest.collective +
                 "', which is not known here, and does not define it"};
  unsigned chunks = sendsOneSegmentPerRank(*kind) ? manifest.ranks : 1;
  return Collective::make(*kind, manifest.ranks, chunks, manifest.root);
}

static scclRedOp reductionOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return scclSum;
  case Reduction::Prod:
    return scclProd;
  case Reduction::Min:
    return scclMin;
  case Reduction::Max:
    return scclMax;
  case Reduction::Avg:
    return scclAvg;
  }
  return scclSum;
}

/// The last error of libsccl on this thread.
static std::string lastError(scclResult result) {
  return std::string(scclErrorString(result)) + ": " +
         scclGetLastErrorMessage();
}

/// Around what launches may touch, and what it holds.
static constexpr uint64_t guardBytes = 4096;
static constexpr unsigned char guardByte = 0xA5;

namespace {
/// A block of memory, of which launches use what is between two guard zones.
struct Block {
  char *memory = nullptr;
  uint64_t bytes = 0;
  std::vector<char> mirror; ///< of memory that the host cannot access
  uint64_t usedBegin = 0, usedEnd = 0;

  char *onHost(uint64_t offset) {
    return (mirror.empty() ? memory : mirror.data()) + offset;
  }
  /// Makes everything a guard zone but what is used.
  void guard() {
    std::memset(onHost(0), guardByte, usedBegin);
    std::memset(onHost(usedEnd), guardByte, bytes - usedEnd);
  }
  bool isIntact() {
    auto isGuard = [](unsigned char byte) { return byte == guardByte; };
    return std::all_of(onHost(0), onHost(usedBegin), isGuard) &&
           std::all_of(onHost(usedEnd), onHost(bytes), isGuard);
  }
};

/// Bytes that the blocks of a rank have: for its send and its receive buffer,
/// or in place one for both. The same on all ranks.
struct BlockSizes {
  uint64_t send = 0, recv = 0;
  BlockSizes(const plan::Manifest &manifest, const MeasureRequest &request) {
    uint64_t segment = request.count * request.element.bytes;
    uint64_t sends = 0, recvs = 0;
    for (const plan::RankLayout &layout : manifest.layout) {
      sends = std::max<uint64_t>(sends, layout.inputSegments);
      recvs = std::max<uint64_t>(recvs, layout.outputSegments);
    }
    send = sends * segment + 2 * guardBytes;
    recv =
        std::max(recvs, request.inPlace ? sends : 0) * segment + 2 * guardBytes;
  }
};
} // namespace

std::optional<Error> sccl::checkMemory(const plan::Manifest &manifest,
                                       const MeasureRequest &request) {
  BlockSizes sizes(manifest, request);
  uint64_t needed = manifest.ranks * (sizes.send + sizes.recv);
  uint64_t available = availableMemory();
  if (needed <= available)
    return std::nullopt;
  return Error{"the buffers need " + std::to_string(needed >> 20) +
               " MiB, but only " + std::to_string(available >> 20) +
               " MiB of memory are free"};
}

/// What launches work on.
struct PlanRank::Buffers {
  /// A buffer of the caller, which is a part of a block.
  struct Part {
    Block *block = nullptr;
    uint64_t offset = 0, bytes = 0;
    char *address() const { return block->memory + offset; }
    char *onHost() const { return block->onHost(offset); }
  };
  Block sendBlock, recvBlock;
  Part send, recv;
  bool registered = false;
  scclDataType type = scclFloat32;
  scclRedOp op = scclSum;

  /// Divides the blocks as `layout` says.
  void place(const plan::RankLayout &layout, uint64_t segment, bool inPlace) {
    int64_t offset = inPlace ? layout.inPlaceOffset.value_or(0) : 0;
    bool isOne = inPlace && layout.inPlaceOffset;
    send = {isOne ? &recvBlock : &sendBlock,
            guardBytes + std::max<int64_t>(offset, 0) * segment,
            layout.inputSegments * segment};
    recv = {&recvBlock, guardBytes + std::max<int64_t>(-offset, 0) * segment,
            layout.outputSegments * segment};
    for (Block *block : {&sendBlock, &recvBlock}) {
      block->usedBegin = block->bytes;
      for (const Part *part : {&send, &recv})
        if (part->block == block) {
          block->usedBegin = std::min(block->usedBegin, part->offset);
          block->usedEnd = std::max(block->usedEnd, part->offset + part->bytes);
        }
      block->usedEnd = std::max(block->usedEnd, block->usedBegin);
    }
  }
};

/// True if ranks have to exchange messages, or the plan wants them to.
static bool usesMessages(const plan::Manifest &manifest, const RankEnd &end) {
  auto isForMessages = [](const plan::KernelInfo &kernel) {
    llvm::StringRef target = kernel.target;
    return target == messageTarget || target.starts_with(messageChipPrefix);
  };
  return end.makeTransport &&
         (end.isOnSeveralHosts ||
          std::all_of(manifest.kernels.begin(), manifest.kernels.end(),
                      isForMessages));
}

/// Collective. Joins the ranks, through messages or on this machine.
static scclResult join(const plan::Manifest &manifest, const RankEnd &end,
                       const scclConfig &config, scclComm &comm) {
  if (!usesMessages(manifest, end))
    return scclCommInit(end.rank, end.numRanks, end.allGather, end.context,
                        &config, &comm);
  scclTransport transport;
  scclResult result = end.makeTransport(&transport);
  return result == scclSuccess
             ? scclCommInitTransport(&transport, &config, &comm)
             : result;
}

Result<std::unique_ptr<PlanRank>>
PlanRank::create(llvm::StringRef bytes, const plan::Manifest &manifest,
                 const RankEnd &end, const scclConfig &config) {
  Result<Collective> collective = collectiveOf(manifest);
  if (!collective)
    return Error{collective.error()};
  std::unique_ptr<PlanRank> rank(new PlanRank(
      std::move(*collective), manifest, end, config.device == scclDeviceCPU));
  scclResult result =
      scclPlanLoadMemory(bytes.data(), bytes.size(), &rank->plan);
  if (result == scclSuccess)
    result = join(manifest, end, config, rank->theComm);
  if (result == scclSuccess)
    result = scclCommLoad(rank->theComm, rank->plan);
  if (result != scclSuccess)
    return Error{lastError(result)};
  return rank;
}

Result<bool> PlanRank::leave() {
  scclResult result = scclCommDestroy(std::exchange(theComm, nullptr));
  return agree(result == scclSuccess ? "" : lastError(result));
}

PlanRank::~PlanRank() {
  if (theComm)
    scclCommDestroy(theComm);
  if (plan)
    scclPlanDestroy(plan);
}

/// An error on one rank is one on all: they would wait for it otherwise.
Result<bool> PlanRank::agree(const std::string &error) const {
  struct Note {
    char text[256];
  } mine = {};
  std::strncpy(mine.text, error.c_str(), sizeof(mine.text) - 1);
  std::vector<Note> all;
  // Whoever has waited in vain need not wait for the same once more.
  scclResult state = theComm ? scclCommGetError(theComm) : scclSuccess;
  if (state == scclErrorTimeout || state == scclErrorRankLost)
    end.giveUp();
  if (!end.gather(mine, all))
    return Error{error.empty() ? hasGone : error};
  for (unsigned rank = 0; rank < all.size(); ++rank)
    if (all[rank].text[0] != '\0')
      return Error{"rank " + std::to_string(rank) + ": " + all[rank].text};
  return true;
}

static bool getMemory(scclComm comm, bool registered, Block &block) {
  void *memory = nullptr;
  if (registered) {
    if (scclMemAlloc(comm, block.bytes, &memory) != scclSuccess)
      return false;
  } else {
    constexpr uint64_t page = 4096;
    memory = std::aligned_alloc(page, (block.bytes + page) / page * page);
  }
  block.memory = static_cast<char *>(memory);
  return memory != nullptr;
}

Result<bool> PlanRank::allocate(const MeasureRequest &request,
                                Buffers &buffers) {
  BlockSizes sizes(manifest, request);
  buffers.registered = request.registered;
  buffers.sendBlock.bytes = sizes.send;
  buffers.recvBlock.bytes = sizes.recv;
  std::string error;
  for (Block *block : {&buffers.sendBlock, &buffers.recvBlock}) {
    if (!getMemory(theComm, request.registered, *block))
      error =
          "no memory for buffers of " + std::to_string(block->bytes) + " bytes";
    if (!isHost)
      block->mirror.resize(block->bytes);
  }
  if (Result<bool> agreed = agree(error); !agreed)
    return agreed;
  buffers.place(manifest.layout[end.rank],
                request.count * request.element.bytes, request.inPlace);
  buffers.sendBlock.guard();
  buffers.recvBlock.guard();
  return true;
}

void PlanRank::release(Buffers &buffers) {
  for (Block *block : {&buffers.sendBlock, &buffers.recvBlock})
    if (buffers.registered && block->memory)
      scclMemFree(theComm, block->memory);
    else
      std::free(block->memory);
}

scclResult PlanRank::launch(const MeasureRequest &request,
                            const Buffers &buffers) {
  return scclLaunch(theComm, plan, buffers.send.address(),
                    buffers.recv.address(), request.count, buffers.type,
                    buffers.op, nullptr);
}

/// Launches between copies to the device and from it, if it has memory of its
/// own.
scclResult PlanRank::launchVerified(const MeasureRequest &request,
                                    Buffers &buffers) {
  if (isHost)
    return launch(request, buffers);
  scclResult code = scclSuccess;
  for (Block *block : {&buffers.sendBlock, &buffers.recvBlock})
    if (code == scclSuccess)
      code =
          scclMemCopy(theComm, block->memory, block->onHost(0), block->bytes);
  if (code == scclSuccess)
    code = launch(request, buffers);
  for (Block *block : {&buffers.sendBlock, &buffers.recvBlock})
    if (code == scclSuccess)
      code =
          scclMemCopy(theComm, block->onHost(0), block->memory, block->bytes);
  return code;
}

/// "timed out after 0.2 s, with 17 of 20 launches done".
static std::string describeDelay(const MeasureRequest &request, unsigned done) {
  std::string text;
  llvm::raw_string_ostream(text)
      << "timed out after " << llvm::format("%g", request.verifySeconds)
      << " s, with " << done << " of " << request.verified << " launches done";
  return text;
}

/// Launches with other data each time and compares; returns an error or "".
std::string PlanRank::verify(const MeasureRequest &request, Buffers &buffers,
                             Measurement &result) {
  Result<SumOrder> order = SumOrder::parse(manifest.sumOrder);
  TestData data(theCollective, request.element, request.reduction,
                request.count * request.element.bytes,
                order ? *order : SumOrder::Any);
  constexpr int poison = 0xDB;
  bool isLimited = request.verifySeconds > 0;
  // Of least and greatest elements zeros may have either sign.
  bool comparesBits = theCollective.kind() == CollectiveKind::AllReduce &&
                      manifest.sumOrder != "any" &&
                      request.reduction != Reduction::Min &&
                      request.reduction != Reduction::Max;
  Clock::time_point begin = Clock::now();
  auto isLate = [&] {
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    return isLimited && elapsed.count() > request.verifySeconds;
  };
  for (unsigned number = 0; number < request.verified; ++number) {
    std::memset(buffers.recv.onHost(), poison, buffers.recv.bytes);
    data.fillInput(end.rank, number, buffers.send.onHost());
    // Others may be in this launch already, so it is given up for all.
    if (isLate())
      scclCommAbort(theComm);
    scclResult code = launchVerified(request, buffers);
    if (code == scclErrorAborted && isLimited)
      return describeDelay(request, number);
    if (code != scclSuccess)
      return lastError(code);
    OutputComparison comparison =
        data.compareOutput(end.rank, number, buffers.recv.onHost());
    result.elements += comparison.elements;
    llvm::StringRef output(buffers.recv.onHost(), buffers.recv.bytes);
    if (comparesBits)
      result.outputHash =
          std::rotl(result.outputHash, 7) ^ llvm::xxh3_64bits(output);
    if (comparison.wrong != 0 && result.wrong == 0)
      result.firstWrong = "launch " + std::to_string(number) + ", rank " +
                          std::to_string(end.rank) + ", " + comparison.first;
    result.wrong += comparison.wrong;
  }
  if (!buffers.sendBlock.isIntact() || !buffers.recvBlock.isIntact())
    return "something was written beside the buffers";
  return "";
}

/// Waits for launches that were enqueued, by a copy that comes after them.
scclResult PlanRank::settle(const Buffers &buffers) {
  char byte;
  if (isHost)
    return scclSuccess;
  return scclMemCopy(theComm, &byte, buffers.recvBlock.memory, sizeof(byte));
}

/// From here on, if that is asked for. Clocks of several hosts are compared
/// before; false if a rank has gone.
bool PlanRank::record(const MeasureRequest &request, scclResult &code) {
  if (!request.traced)
    return true;
  if (end.isOnSeveralHosts) {
    clocksBefore = compareClocks(end, traceClock);
    if (clocksBefore.empty())
      return false;
  }
  if (code == scclSuccess)
    code = scclCommTrace(theComm, /*on=*/1);
  recordedFrom = traceClock();
  return true;
}

Result<double> PlanRank::time(const MeasureRequest &request,
                              const Buffers &buffers) {
  double best = 0, total = 0;
  std::vector<double> all;
  for (unsigned batch = 0; batch < request.batches; ++batch) {
    constexpr unsigned leastBatches = 3;
    if (request.secondsLimit > 0 && total > request.secondsLimit &&
        batch >= leastBatches)
      break;
    if (!end.gather(0.0, all))
      return Error{hasGone};
    // The first launch makes up for ranks that start late.
    scclResult code = launch(request, buffers);
    if (code == scclSuccess)
      code = settle(buffers);
    if (!record(request, code))
      return Error{hasGone};
    Clock::time_point begin = Clock::now();
    for (unsigned i = 0; i < request.launches && code == scclSuccess; ++i)
      code = launch(request, buffers);
    if (code == scclSuccess)
      code = settle(buffers);
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (Result<bool> agreed = agree(code == scclSuccess ? "" : lastError(code));
        !agreed)
      return Error{agreed.error()};
    if (!end.gather(elapsed.count() / request.launches, all))
      return Error{hasGone};
    double slowest = *std::max_element(all.begin(), all.end());
    total += slowest * request.launches;
    if (best == 0 || slowest < best)
      best = slowest;
  }
  return best;
}

Result<scclChoice> PlanRank::choice(const MeasureRequest &request) const {
  scclChoice choice = {};
  choice.size = sizeof(choice);
  scclResult result = scclQueryChoice(theComm, plan, request.count,
                                      scclDataType(request.element.number),
                                      reductionOf(request.reduction), &choice);
  if (result != scclSuccess)
    return Error{lastError(result)};
  return choice;
}

/// From what one rank has compared to what all have.
Result<bool> PlanRank::addUp(Measurement &result) const {
  struct Tally {
    uint64_t elements, wrong, hash;
    char first[256];
  } mine = {result.elements, result.wrong, result.outputHash, {}};
  std::strncpy(mine.first, result.firstWrong.c_str(), sizeof(mine.first) - 1);
  std::vector<Tally> all;
  if (!end.gather(mine, all))
    return Error{hasGone};
  result.elements = result.wrong = 0;
  result.firstWrong.clear();
  for (const Tally &tally : all) {
    result.elements += tally.elements;
    result.wrong += tally.wrong;
    if (result.firstWrong.empty())
      result.firstWrong = tally.first;
    if (tally.hash == all[0].hash || tally.wrong + all[0].wrong != 0)
      continue;
    // How many elements is not known.
    ++result.wrong;
    if (result.firstWrong.empty())
      result.firstWrong = "rank " + std::to_string(&tally - all.data()) +
                          ", which has other bits than rank 0";
  }
  return true;
}

Result<Measurement> PlanRank::measure(const MeasureRequest &request) {
  Buffers buffers;
  buffers.type = scclDataType(request.element.number);
  buffers.op = reductionOf(request.reduction);
  Measurement result;
  Result<bool> done = allocate(request, buffers);
  if (done) {
    std::string error = verify(request, buffers, result);
    if (!error.empty() && result.wrong != 0)
      error = "wrong result in " + result.firstWrong + "; then " + error;
    done = agree(error);
  }
  Result<double> seconds = done ? time(request, buffers) : 0.0;
  release(buffers);
  if (!seconds)
    return Error{seconds.error()};
  if (done)
    done = addUp(result);
  if (!done)
    return Error{done.error()};
  result.seconds = *seconds;
  return result;
}
