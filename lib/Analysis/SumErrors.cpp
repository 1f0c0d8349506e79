//===- SumErrors.cpp - How far sums may be from exact ones ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/SumErrors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <bit>
#include <cmath>

using namespace sccl;
using namespace sccl::coll;

SumErrors::SumErrors(ProgramOp program, const Collective &collective,
                     const ElementType &element, Reduction reduction)
    : collective(collective), element(element),
      averages(reduction == Reduction::Avg), slots(program, collective),
      ranks(ranksOf(program)), states(slots.size()) {
  assert((averages || reduction == Reduction::Sum) && "no sum");
  if (element.isFloat()) {
    int mantissa = int(element.mantissaBits);
    unit = std::ldexp(1.0, -mantissa - 1);
    wideUnit = element.combinesAsF32() ? std::ldexp(1.0, -24) : 0;
    least = std::ldexp(1.0, 1 - int(element.bias()) - mantissa);
    wideLeast = element.combinesAsF32() ? 0x1p-149 : 0;
  }
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned slot = 0; slot < collective.inputSlots(rank); ++slot)
      states[slots.number(rank, Buffer::Input, slot)].contributions = 1;
  if (!collective.combining() || !element.isFloat())
    return;
  (void)walkInExecutionOrder(program, [&](ChannelOp, mlir::Operation *op) {
    if (std::optional<Transfer> transfer = getTransfer(op))
      for (unsigned i = 0; i < transfer->size(); ++i)
        take(*transfer, i);
    return mlir::WalkResult::advance();
  });
}

/// Chunk `i` of `transfer`.
void SumErrors::take(const Transfer &transfer, unsigned i) {
  llvm::SmallVector<State, 8> terms;
  for (const SlotRange &read : transfer.reads)
    terms.push_back(states[slots.number(read.rank, read.buffer, read[i])]);
  const SlotRange &write = transfer.write;
  bool isWideNow = isWide(ranks[write.rank], write);
  State &result = states[slots.number(write.rank, write.buffer, write[i])];
  result = transfer.reduces() ? reduce(terms, transfer.isFinal, isWideNow)
                              : terms.front();
  if (result.isWide && !isWideNow && result.contributions > 1)
    ++result.roundings;
  result.isWide = isWideNow;
}

/// The logarithm of what an input that was rounded so often may have grown by.
double SumErrors::growthOf(const State &state) const {
  return state.roundings * std::log1p(unit) +
         state.wideRoundings * std::log1p(wideUnit);
}

/// What a term goes through in a reduction, whose result may be f32. Two small
/// floats that are added in f32 and then rounded have the bits of one rounding.
void SumErrors::addRounding(State &state, unsigned additions, bool isOnlyOne,
                            bool divides, bool isWide) const {
  if (!element.combinesAsF32()) {
    state.roundings += additions + divides;
    return;
  }
  if (!isOnlyOne || divides || isWide)
    state.wideRoundings += additions + divides;
  state.roundings += !isWide;
}

/// Terms are added from left to right. An average keeps a sum of c terms over
/// the least power of two, 2^e, that is at least c; its least numbers are then
/// 2^e times as large.
SumErrors::State SumErrors::reduce(llvm::ArrayRef<State> terms, bool isFinal,
                                   bool isWide) const {
  State sum{.isWide = isWide};
  // Of two small floats, and not of sums in f32.
  bool isOnlyOne =
      terms.size() == 2 && llvm::none_of(terms, [](const State &term) {
        return term.isWide && term.contributions > 1;
      });
  bool divides = averages && isFinal;
  for (auto [i, term] : llvm::enumerate(terms)) {
    unsigned additions = unsigned(terms.size() - std::max<size_t>(i, 1));
    State own, path = term;
    for (State *state : {&own, &path})
      addRounding(*state, additions, isOnlyOne, divides, isWide);
    if (growthOf(path) > growthOf(sum)) {
      sum.roundings = path.roundings;
      sum.wideRoundings = path.wideRoundings;
    }
    sum.contributions += term.contributions;
    if (averages)
      sum.absolute += term.absolute * std::exp(growthOf(own));
  }
  if (averages)
    sum.absolute +=
        (isWide ? wideLeast : least) *
        (isFinal ? sum.contributions : std::bit_ceil(sum.contributions));
  return sum;
}

/// Rounded up.
SumError SumErrors::errorOf(const State &state) const {
  constexpr double up = 1 + 0x1p-40, infinity = HUGE_VAL;
  SumError error{state.roundings, state.wideRoundings,
                 up * std::expm1(growthOf(state))};
  if (state.absolute > 0)
    error.absolute =
        std::nextafter(up * state.absolute / state.contributions, infinity);
  return error;
}

SumError SumErrors::at(unsigned rank, unsigned slot) const {
  return errorOf(states[slots.number(rank, Buffer::Output, slot)]);
}

SumError SumErrors::worst() const {
  SumError worst;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned slot = 0; slot < collective.outputSlots(rank); ++slot) {
      SumError error = at(rank, slot);
      double absolute = std::max(error.absolute, worst.absolute);
      if (error.relative > worst.relative)
        worst = error;
      worst.absolute = absolute;
    }
  return worst;
}

/// The next number of two digits.
static double roundedUp(double value) {
  double digit = std::pow(10, std::floor(std::log10(value)) - 1);
  // What has two digits is not to be rounded again.
  constexpr double down = 1 - 1e-9;
  return digit > 0 ? std::ceil(value / digit * down) * digit : value;
}

std::string SumError::toString(const ElementType &element,
                               Reduction reduction) const {
  if (relative == 0)
    return "exact";
  bool averages = reduction == Reduction::Avg;
  std::string text =
      llvm::formatv("off by at most {0:e1} of the {1} of |x|",
                    roundedUp(relative), averages ? "mean" : "sum");
  if (absolute > 0)
    text += llvm::formatv(" and {0:e1}", roundedUp(absolute));
  text += llvm::formatv(": {0} rounding{1} of {2}", roundings,
                        roundings == 1 ? "" : "s", element.name);
  if (wideRoundings > 0)
    text += llvm::formatv(", {0} of f32", wideRoundings);
  return text;
}
