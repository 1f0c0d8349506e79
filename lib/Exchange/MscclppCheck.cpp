//===- MscclppCheck.cpp - Whether a plan of MSCCL++ is right --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallLayout.h"
#include "MscclppTrace.h"

#include "sccl/Exchange/Mscclpp.h"

#include <algorithm>
#include <unordered_map>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// What `checkMscclpp` has found, and the call that it has run.
struct MscclppChecked {
  MscclppVerdict verdict;
  CheckedCall call;
};

/// For each event, the ranks that have begun the call before it begins.
class BegunRanks {
public:
  BegunRanks(const CheckedCall &call, const MscclppTrace &made)
      : words((made.begins.size() + 63) / 64),
        sets(call.trace.events.size() * words) {
    std::unordered_multimap<uint32_t, uint32_t> signals;
    for (auto [signal, wait] : made.relaxed)
      signals.emplace(wait, signal);
    for (uint32_t rank = 0; rank < made.begins.size(); ++rank)
      sets[made.begins[rank] * words + rank / 64] |= uint64_t(1) << (rank % 64);
    for (uint32_t event : call.order) {
      call.trace.before(event, [&](uint32_t other) { add(event, other); });
      auto [first, end] = signals.equal_range(event);
      for (auto at = first; at != end; ++at)
        add(event, at->second);
    }
  }
  bool contains(uint32_t event, uint32_t rank) const {
    return sets[event * words + rank / 64] >> (rank % 64) & 1;
  }

private:
  void add(uint32_t event, uint32_t other) {
    for (size_t i = 0; i < words; ++i)
      sets[event * words + i] |= sets[other * words + i];
  }

  size_t words;
  std::vector<uint64_t> sets;
};
} // namespace

/// Says which ranks touch another's memory before that has begun the call: its
/// caller may still use it, or its last call the scratch memory. Where that is
/// doubled, LL words of the last call are elsewhere, so that it is enough if
/// the one before that is over: that no rank returns before the others begin.
static void findEarly(const CheckedCall &call, const MscclppTrace &made,
                      bool doublesScratch, Findings &findings) {
  constexpr uint64_t mostBits = uint64_t(1) << 33;
  uint64_t events = call.trace.events.size();
  if (events * made.begins.size() > mostBits)
    return findings.add({}, "not known: too many operations to see which "
                            "ranks have begun");
  BegunRanks begun(call, made);
  for (const ForeignEvent &foreign : made.foreign) {
    const Event &event = call.trace.events[foreign.event];
    std::string rank = std::to_string(event.rank);
    if (foreign.isLL && doublesScratch) {
      if (!begun.contains(made.ends[foreign.by], event.rank))
        findings.add(event.place, "rank " + std::to_string(foreign.by) +
                                      " never hears of rank " + rank +
                                      ", so that a later call of it could "
                                      "overwrite these LL words");
    } else if (!begun.contains(foreign.event, event.rank)) {
      findings.add(event.place, "touches memory of rank " + rank +
                                    ", which may not have begun");
    }
  }
}

/// What is right in one plan, and not beside others.
static std::vector<std::string> notesOf(const MscclppPlan &plan) {
  for (const MscclppGpu &gpu : plan.gpus)
    for (const MscclppBlock &block : gpu.blocks)
      for (const MscclppOperation &operation : block.operations)
        if (operation.kind == MscclppKind::PutLL && !waitsForWords(operation))
          return {"the executor of version 0.9 takes what a ppkt sends through "
                  "a port from the scratch memory of the first plan that it "
                  "ran: right if that is this plan, or if both have "
                  "\"reuse_resources\""};
  return {};
}

static MscclppVerdict countParts(const MscclppPlan &plan, CollectiveKind kind) {
  MscclppVerdict verdict{kind};
  for (const MscclppGpu &gpu : plan.gpus) {
    verdict.blocks += gpu.blocks.size();
    verdict.mostBlocks =
        std::max(verdict.mostBlocks, unsigned(gpu.blocks.size()));
    for (const MscclppBlock &block : gpu.blocks) {
      verdict.operations += block.operations.size();
      verdict.mostOperations =
          std::max(verdict.mostOperations, unsigned(block.operations.size()));
    }
  }
  verdict.mostBytes = mscclppMostBytes(plan, kind);
  const MscclppGpu &gpu = plan.gpus[0];
  verdict.bytesMultiple = uint64_t(plan.alignment) *
                          (kind == CollectiveKind::AllToAll
                               ? gpu.inputChunks / uint32_t(plan.gpus.size())
                               : std::min(gpu.inputChunks, gpu.outputChunks));
  verdict.notes = notesOf(plan);
  return verdict;
}

static std::optional<MscclppChecked>
runMscclpp(const MscclppPlan &plan, const MscclppCheckOptions &options,
           Findings &findings) {
  std::optional<CollectiveKind> kind =
      options.as ? options.as : mscclppCollective(plan, findings);
  if (!kind || !checkMscclppStructure(plan, *kind, options.root, findings))
    return std::nullopt;
  uint32_t cells = mscclppCells(plan);
  if (cells == 0)
    findings.add(plan.place, "not known: operations are shared by too many "
                             "different numbers of blocks");
  if (!findings.empty())
    return std::nullopt;
  CallLayout layout = layoutOf(plan, *kind, options.root, cells);
  MscclppTrace made = makeMscclppTrace(plan, layout, cells, findings);
  std::vector<Place> places;
  for (const MscclppGpu &gpu : plan.gpus)
    places.push_back(gpu.place);
  std::optional<CheckedCall> call =
      checkCall(layout, std::move(made.trace), places, findings);
  if (!call)
    return std::nullopt;
  findEarly(*call, made, plan.doublesScratch, findings);
  if (!findings.empty())
    return std::nullopt;
  return MscclppChecked{countParts(plan, *kind), std::move(*call)};
}

std::optional<MscclppVerdict>
exchange::checkMscclpp(const MscclppPlan &plan,
                       const MscclppCheckOptions &options, Findings &findings) {
  if (auto checked = runMscclpp(plan, options, findings))
    return checked->verdict;
  return std::nullopt;
}

Result<FoundSchedule>
exchange::fromMscclpp(const MscclppPlan &plan,
                      const MscclppCheckOptions &options) {
  Findings findings;
  std::optional<MscclppChecked> checked = runMscclpp(plan, options, findings);
  if (!checked)
    return firstError(findings);
  Result<FoundSchedule> found = scheduleOfCall(checked->call);
  if (found)
    found->notes = checked->verdict.notes;
  return found;
}
