//===- SumTrace.cpp - How and where a program adds up ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/SumTrace.h"

#include <algorithm>
#include <set>

using namespace sccl;
using namespace sccl::coll;

SumTrace::SumTrace(ProgramOp program, const Collective &collective,
                   unsigned chunk) {
  for (unsigned rank : collective.pre().ranksOf(chunk)) {
    Place input{rank, Buffer::Input, *collective.inputSlot(rank, chunk)};
    values[input] = nodes.size();
    nodes.push_back({.rank = rank, .terms = {}, .least = rank});
  }
  (void)walkInExecutionOrder(
      program, [&](ChannelOp channel, mlir::Operation *op) {
        if (std::optional<Transfer> transfer = getTransfer(op))
          for (unsigned i = 0; i < transfer->size(); ++i)
            if (transfer->chunkAt(i) == chunk)
              take(channel, *transfer, i);
        return mlir::WalkResult::advance();
      });
  for (unsigned rank : collective.post().ranksOf(chunk))
    outputs[rank] =
        values.at({rank, Buffer::Output, *collective.outputSlot(rank, chunk)});
}

/// Chunk `i` of `transfer`.
void SumTrace::take(ChannelOp channel, const Transfer &transfer, unsigned i) {
  Node sum{.rank = getRank(channel),
           .step = transfer.step,
           .terms = {},
           .leaves = 0,
           .least = ~0u};
  for (const SlotRange &read : transfer.reads) {
    uint32_t term = values.at({read.rank, read.buffer, read[i]});
    sum.terms.push_back(term);
    sum.leaves += nodes[term].leaves;
    sum.least = std::min(sum.least, nodes[term].least);
  }
  uint32_t result = sum.terms.front();
  if (transfer.reduces()) {
    result = nodes.size();
    nodes.push_back(std::move(sum));
  }
  const SlotRange &write = transfer.write;
  values[{write.rank, write.buffer, write[i]}] = result;
}

namespace {
/// A sum as text, and what decides which of two comes first.
struct Text {
  std::string text;
  unsigned leaves, least;
};
} // namespace

static Text sumOf(Text a, Text b) {
  if (a.leaves < b.leaves || (a.leaves == b.leaves && b.least < a.least))
    std::swap(a, b);
  return {"(" + a.text + "+" + b.text + ")", a.leaves + b.leaves,
          std::min(a.least, b.least)};
}

std::string SumTrace::toString(uint32_t number, bool roundsOnce) const {
  const Node &sum = nodes[number];
  if (sum.terms.empty())
    return std::to_string(sum.rank);
  auto textOf = [&](uint32_t term) {
    return Text{toString(term, roundsOnce), nodes[term].leaves,
                nodes[term].least};
  };
  Text all = textOf(sum.terms.front());
  bool isOne = roundsOnce && sum.terms.size() > 2;
  for (size_t i = 1; i < sum.terms.size(); ++i)
    if (isOne)
      all.text += "+" + textOf(sum.terms[i]).text;
    else
      all = sumOf(all, textOf(sum.terms[i]));
  return isOne ? "(" + all.text + ")" : all.text;
}

std::vector<uint32_t> SumTrace::additionsOf(uint32_t number) const {
  std::set<uint32_t> found;
  std::vector<uint32_t> left = {number};
  while (!left.empty()) {
    uint32_t next = left.back();
    left.pop_back();
    if (!nodes[next].terms.empty() && found.insert(next).second)
      left.insert(left.end(), nodes[next].terms.begin(),
                  nodes[next].terms.end());
  }
  return {found.begin(), found.end()};
}
