//===- AdviceReport.cpp - The table and JSON of sccl plan -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdviceReport.h"

#include "Driver.h"
#include "Output.h"

#include "sccl/Pipelines/Ways.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::driver;

std::string driver::describeCandidate(const Candidate &candidate) {
  const auto &[collective, schedule] = candidate.implementation;
  bool isPipelined = candidate.isPipelined();
  std::string text =
      llvm::formatv("C = {0}, S = {1}, {2} = {3}", collective.chunks(),
                    schedule.steps.size(), isPipelined ? "P" : "R",
                    isPipelined ? schedule.period : schedule.rounds());
  if (!isPipelined && candidate.pieces == 1)
    return text;
  return text + llvm::formatv(", {0} piece{1}{2}", candidate.pieces,
                              candidate.pieces == 1 ? "" : "s",
                              sccl::describe(candidate.order))
                    .str();
}

/// Microseconds for `bytes` bytes if all ranks could write to each other.
static double byWritesAt(const Advice &advice, uint64_t bytes) {
  return llvm::find_if(
             advice.byWrites,
             [&](const SizeAdvice &size) { return size.bytes == bytes; })
      ->microseconds;
}

void AdviceReport::printTable() const {
  out() << llvm::formatv("{0,12}{1,14}{2,14}{3,8}", "size", "us", "bound us",
                         "gap");
  const bool isByMessages = !advice.byWrites.empty();
  if (isByMessages)
    out() << llvm::formatv("{0,14}", "by writes us");
  if (intact)
    out() << llvm::formatv("{0,14}{1,14}{2,8}", "intact us", "its bound us",
                           "loss");
  for (const Baseline &baseline : baselines)
    out() << llvm::formatv("{0,14}", baseline.name + " us");
  out() << "   schedule\n";
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    const SizeAdvice &size = advice.sizes[i];
    out() << llvm::formatv("{0,12}{1,14:f1}{2,14:f1}{3,8:P0}",
                           formatBytes(size.bytes), size.microseconds,
                           size.bound, size.gap());
    if (isByMessages)
      out() << llvm::formatv("{0,14:f1}", byWritesAt(advice, size.bytes));
    if (intact) {
      const SizeAdvice &before = intact->sizes[i];
      out() << llvm::formatv("{0,14:f1}{1,14:f1}{2,8:P0}", before.microseconds,
                             before.bound,
                             size.microseconds / before.microseconds - 1);
    }
    for (const Baseline &baseline : baselines)
      if (baseline.isKnown())
        out() << llvm::formatv("{0,14:f1}", baseline.sizes[i].microseconds);
      else
        out() << llvm::formatv("{0,14}", "-");
    out() << "   " << describeCandidate(advice.candidates[size.candidate])
          << ", "
          << (!size.isSimulated() ? "estimated"
              : isByMessages      ? "messages"
                                  : size.way)
          << '\n';
  }
}

std::optional<AskedTree> driver::treeOf(const Collective &collective,
                                        const LoweringOptions &options) {
  SumOrder order = orderFor(options);
  if (!order.isTree() || !collective.combining())
    return std::nullopt;
  Result<SumTree> tree =
      order.treeOf(unsigned(collective.pre().ranksOf(0).size()));
  if (!tree)
    return std::nullopt;
  return AskedTree{order.toString(), tree->toString()};
}

std::string AdviceReport::sumSentence() const {
  constexpr size_t shortText = 80;
  bool mayUseSwitch =
      std::ranges::any_of(advice.sizes, &SizeAdvice::isInNetwork);
  std::string text =
      std::string(mayUseSwitch ? whereNoSwitchAdds : "") + "every element is ";
  if (tree)
    text += "added up as " +
            (tree->tree.size() <= shortText ? tree->tree : tree->order);
  const coll::SumError *worst = nullptr;
  for (const std::optional<coll::SumError> &error : errors)
    if (error && (!worst || error->relative > worst->relative))
      worst = &*error;
  if (!worst)
    return tree ? text : "";
  return text + (tree ? ": " : "") +
         worst->toString(elementType(lowering.element), lowering.reduction);
}

void AdviceReport::printJson() const {
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    const SizeAdvice &size = advice.sizes[i];
    const Candidate &candidate = advice.candidates[size.candidate];
    const auto &[collective, schedule] = candidate.implementation;
    bool isPipelined = candidate.isPipelined();
    unsigned rounds = isPipelined ? schedule.period : schedule.rounds();
    llvm::json::Object object{
        {"bytes", size.bytes},
        {"microseconds", size.microseconds},
        {"bound_microseconds", size.bound},
        {"bound_holds_for", bounded},
        {"gap", size.gap()},
        {"chunks", collective.chunks()},
        {"steps", schedule.steps.size()},
        {isPipelined ? "period" : "rounds", rounds},
        {"cost", Rational(rounds, collective.chunks()).str()},
        {"pieces", candidate.pieces},
        {"lowering", advice.byWrites.empty() ? size.way : "messages"},
        {"simulated", size.isSimulated()}};
    if (!advice.byWrites.empty())
      object["by_writes_microseconds"] = byWritesAt(advice, size.bytes);
    if (candidate.hasOrder()) {
      object["piece_distance"] = candidate.order.distance;
      object["piece_rounds"] = candidate.order.inRounds;
    }
    if (intact) {
      object["intact_microseconds"] = intact->sizes[i].microseconds;
      object["intact_bound_microseconds"] = intact->sizes[i].bound;
    }
    if (tree)
      object["order"] = tree->order;
    if (errors[i])
      addError(*errors[i], object);
    for (const Baseline &baseline : baselines)
      object[baseline.name + "_microseconds"] =
          baseline.isKnown() ? llvm::json::Value(baseline.sizes[i].microseconds)
                             : nullptr;
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
  }
}
