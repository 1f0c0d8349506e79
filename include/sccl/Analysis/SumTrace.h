//===- SumTrace.h - How and where a program adds up -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_SUMTRACE_H
#define SCCL_ANALYSIS_SUMTRACE_H

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Collective.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sccl::coll {

/// How a program adds up one chunk, and who does it.
class SumTrace {
public:
  /// An input, or the addition of two values and more.
  struct Node {
    unsigned rank;               ///< whose input it is, or who adds
    unsigned step = 0;           ///< of the schedule
    std::vector<uint32_t> terms; ///< nodes, from left to right
    unsigned leaves = 1;         ///< contributions below it
    unsigned least = 0;          ///< the lowest rank that has one
  };

  /// `program` must be right for `collective`, which has `chunk`.
  SumTrace(ProgramOp program, const Collective &collective, unsigned chunk);

  const Node &node(uint32_t number) const { return nodes[number]; }
  /// By rank that ends with the chunk, what it ends with.
  const std::map<unsigned, uint32_t> &ends() const { return outputs; }
  /// "((0+1)+2)", written as SumTree writes it; or "(0+1+2)" where the terms of
  /// one addition are rounded once, if the program `roundsOnce`.
  std::string toString(uint32_t number, bool roundsOnce) const;
  /// The additions below a node and itself, each once: terms come first.
  std::vector<uint32_t> additionsOf(uint32_t number) const;

private:
  using Place = std::tuple<unsigned, Buffer, unsigned>;
  void take(ChannelOp channel, const Transfer &transfer, unsigned i);

  std::vector<Node> nodes;
  std::map<Place, uint32_t> values;
  std::map<unsigned, uint32_t> outputs;
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_SUMTRACE_H
