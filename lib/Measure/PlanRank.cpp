//===- PlanRank.cpp - One rank that tests and measures a plan -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/PlanRank.h"

#include "TestData.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace sccl;

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

/// What a launch works on. Blocks of memory are what has to be freed.
struct PlanRank::Buffers {
  void *sendMemory = nullptr, *recvMemory = nullptr;
  bool registered = false;
  void *send = nullptr, *recv = nullptr;
  uint64_t recvBytes = 0, segmentBytes = 0;
  uint64_t bytes = 0; ///< of each block
  /// What the host sees of the blocks where it cannot access them.
  std::vector<char> sendMirror, recvMirror;
  scclDataType type = scclFloat32;
  scclRedOp op = scclSum;
};

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
    result = scclCommInit(end.rank, end.numRanks, end.allGather, end.context,
                          &config, &rank->theComm);
  if (result == scclSuccess)
    result = scclCommLoad(rank->theComm, rank->plan);
  if (result != scclSuccess)
    return Error{lastError(result)};
  return rank;
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
  if (!end.gather(mine, all))
    return Error{error.empty() ? "a rank has gone" : error};
  for (unsigned rank = 0; rank < all.size(); ++rank)
    if (all[rank].text[0] != '\0')
      return Error{"rank " + std::to_string(rank) + ": " + all[rank].text};
  return true;
}

bool PlanRank::getMemory(bool registered, uint64_t bytes, void **memory) {
  if (registered)
    return scclMemAlloc(theComm, bytes, memory) == scclSuccess;
  constexpr uint64_t page = 4096;
  *memory = std::aligned_alloc(page, (bytes + page) / page * page);
  return *memory != nullptr;
}

Result<bool> PlanRank::allocate(const MeasureRequest &request,
                                uint64_t segmentBytes, Buffers &buffers) {
  const plan::RankLayout &layout = manifest.layout[end.rank];
  uint64_t segments = 0;
  for (const plan::RankLayout &each : manifest.layout)
    segments =
        std::max<uint64_t>({segments, each.inputSegments, each.outputSegments});
  buffers.registered = request.registered;
  buffers.segmentBytes = segmentBytes;
  buffers.recvBytes = layout.outputSegments * segmentBytes;
  // In place the larger of the two buffers holds both.
  uint64_t bytes = segments * segmentBytes;
  buffers.bytes = bytes;
  if (!isHost) {
    buffers.sendMirror.resize(bytes);
    buffers.recvMirror.resize(bytes);
  }
  std::string error;
  if (!getMemory(request.registered, bytes, &buffers.sendMemory) ||
      !getMemory(request.registered, bytes, &buffers.recvMemory))
    error = "no memory for buffers of " + std::to_string(bytes) + " bytes";
  if (Result<bool> agreed = agree(error); !agreed)
    return agreed;
  char *recv = static_cast<char *>(buffers.recvMemory);
  buffers.send = buffers.sendMemory;
  if (request.inPlace && layout.inPlaceOffset) {
    int64_t offset = *layout.inPlaceOffset;
    recv += offset < 0 ? -offset * int64_t(segmentBytes) : 0;
    buffers.send = recv + offset * int64_t(segmentBytes);
  }
  buffers.recv = recv;
  return true;
}

void PlanRank::release(Buffers &buffers) {
  for (void *memory : {buffers.sendMemory, buffers.recvMemory})
    if (buffers.registered && memory)
      scclMemFree(theComm, memory);
    else
      std::free(memory);
}

scclResult PlanRank::launch(const MeasureRequest &request,
                            const Buffers &buffers) {
  return scclLaunch(theComm, plan, buffers.send, buffers.recv, request.count,
                    buffers.type, buffers.op, nullptr);
}

/// Launches between copies to the device and from it, if it has memory of its
/// own.
scclResult PlanRank::launchVerified(const MeasureRequest &request,
                                    Buffers &buffers) {
  if (isHost)
    return launch(request, buffers);
  scclResult code = scclMemCopy(theComm, buffers.sendMemory,
                                buffers.sendMirror.data(), buffers.bytes);
  if (code == scclSuccess)
    code = scclMemCopy(theComm, buffers.recvMemory, buffers.recvMirror.data(),
                       buffers.bytes);
  if (code == scclSuccess)
    code = launch(request, buffers);
  if (code != scclSuccess)
    return code;
  return scclMemCopy(theComm, buffers.recvMirror.data(), buffers.recvMemory,
                     buffers.bytes);
}

/// Launches with other data each time and compares; returns an error or "".
std::string PlanRank::verify(const MeasureRequest &request, Buffers &buffers,
                             Measurement &result) {
  TestData data(theCollective, request.element, request.reduction,
                buffers.segmentBytes);
  constexpr int poison = 0xDB;
  // The same places in the mirrors as in the blocks.
  auto onHost = [&](void *address) -> char * {
    auto *place = static_cast<char *>(address);
    if (isHost)
      return place;
    uint64_t offset = place - static_cast<char *>(buffers.recvMemory);
    if (offset < buffers.bytes || address == buffers.recvMemory)
      return buffers.recvMirror.data() + offset;
    return buffers.sendMirror.data() +
           (place - static_cast<char *>(buffers.sendMemory));
  };
  char *send = onHost(buffers.send), *recv = onHost(buffers.recv);
  for (unsigned launchNumber = 0; launchNumber < request.verified;
       ++launchNumber) {
    std::memset(recv, poison, buffers.recvBytes);
    data.fillInput(end.rank, launchNumber, send);
    if (scclResult code = launchVerified(request, buffers); code != scclSuccess)
      return lastError(code);
    OutputComparison comparison =
        data.compareOutput(end.rank, launchNumber, recv);
    result.elements += comparison.elements;
    if (comparison.wrong != 0 && result.wrong == 0)
      result.firstWrong = "launch " + std::to_string(launchNumber) + ", rank " +
                          std::to_string(end.rank) + ", " + comparison.first;
    result.wrong += comparison.wrong;
  }
  return "";
}

/// Waits for launches that were enqueued, by a copy that comes after them.
scclResult PlanRank::settle(const Buffers &buffers) {
  char byte;
  if (isHost || buffers.bytes == 0)
    return scclSuccess;
  return scclMemCopy(theComm, &byte, buffers.recvMemory, sizeof(byte));
}

Result<double> PlanRank::time(const MeasureRequest &request,
                              const Buffers &buffers) {
  using Clock = std::chrono::steady_clock;
  double best = 0, total = 0;
  std::vector<double> all;
  for (unsigned batch = 0; batch < request.batches; ++batch) {
    constexpr unsigned leastBatches = 3;
    if (request.secondsLimit > 0 && total > request.secondsLimit &&
        batch >= leastBatches)
      break;
    if (!end.gather(0.0, all))
      return Error{"a rank has gone"};
    // The first launch makes up for ranks that start late.
    scclResult code = launch(request, buffers);
    if (code == scclSuccess)
      code = settle(buffers);
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
      return Error{"a rank has gone"};
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

Result<Measurement> PlanRank::measure(const MeasureRequest &request) {
  Buffers buffers;
  buffers.type = scclDataType(request.element.number);
  buffers.op = reductionOf(request.reduction);
  Result<bool> allocated =
      allocate(request, request.count * request.element.bytes, buffers);
  if (!allocated) {
    release(buffers);
    return Error{allocated.error()};
  }
  Measurement result;
  std::string error = verify(request, buffers, result);
  Result<bool> agreed = agree(error);
  Result<double> seconds = agreed ? time(request, buffers) : 0.0;
  release(buffers);
  if (!agreed)
    return Error{agreed.error()};
  if (!seconds)
    return Error{seconds.error()};
  result.seconds = *seconds;

  struct Tally {
    uint64_t elements, wrong;
    char first[256];
  } mine = {result.elements, result.wrong, {}};
  std::strncpy(mine.first, result.firstWrong.c_str(), sizeof(mine.first) - 1);
  std::vector<Tally> all;
  if (!end.gather(mine, all))
    return Error{"a rank has gone"};
  result.elements = result.wrong = 0;
  result.firstWrong.clear();
  for (const Tally &tally : all) {
    result.elements += tally.elements;
    result.wrong += tally.wrong;
    if (result.firstWrong.empty())
      result.firstWrong = tally.first;
  }
  return result;
}
