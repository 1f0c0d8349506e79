//===- HappensBefore.cpp - A program's order of events as a graph ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/HappensBefore.h"
#include "sccl/Analysis/Program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/GraphWriter.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
class GraphPrinter {
public:
  GraphPrinter(ProgramOp program, raw_ostream &os) : program(program), os(os) {}

  LogicalResult print() {
    os << "digraph \"" << llvm::DOT::EscapeString(program.getSymName().str())
       << "\" {\n  rankdir = LR;\n  node [shape = box];\n";
    for (RankOp rank : program.getBody().getOps<RankOp>())
      printNodes(rank);
    LogicalResult result =
        walkInExecutionOrder(program, [&](ChannelOp channel, Operation *op) {
          edges(channel, op);
          return WalkResult::advance();
        });
    os << "}\n";
    return result;
  }

private:
  /// The op as it is written, without the name of the dialect.
  static std::string labelOf(Operation *op) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    op->print(stream, OpPrintingFlags().useLocalScope());
    StringRef label = text;
    label.consume_front("coll.");
    return llvm::DOT::EscapeString(label.str());
  }

  /// "barrier K" is the same node in all channels.
  std::string nameOf(ChannelOp channel, Operation *op) {
    auto [it, isNew] = names.try_emplace(op);
    if (!isNew)
      return it->second;
    std::string place = "r" + std::to_string(getRank(channel)) + "_" +
                        std::to_string(channel.getPeer()) + "_";
    it->second = isa<BarrierOp>(op)
                     ? "barrier_" + std::to_string(barriers[channel]++)
                     : place + std::to_string(counts[channel]++);
    return it->second;
  }

  void printNodes(RankOp rank) {
    os << "  subgraph cluster_" << rank.getRank() << " {\n    label = \"rank "
       << rank.getRank() << "\";\n";
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      for (Operation &op : channel.getBody().getOps()) {
        std::string name = nameOf(channel, &op);
        if (!isa<BarrierOp>(op))
          os << "    " << name << " [label = \"" << labelOf(&op) << "\"];\n";
      }
    os << "  }\n";
  }

  void edge(const std::string &from, const std::string &to,
            StringRef attributes = "") {
    os << "  " << from << " -> " << to << attributes << ";\n";
  }

  /// The edges that end in `op`, the next one of `channel`.
  void edges(ChannelOp channel, Operation *op) {
    std::string name = nameOf(channel, op);
    if (std::string &previous = last[channel]; !previous.empty())
      edge(previous, name);
    last[channel] = name;
    if (auto signal = dyn_cast<SignalOp>(op)) {
      signals[{getFlag(signal), signal.getValue()}] = name;
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      edge(signals.at({getFlag(wait), wait.getValue()}), name,
           " [color = blue]");
    } else if (std::optional<Transfer> transfer = getTransfer(op)) {
      llEdges(*transfer, name);
    }
  }

  void llEdges(const Transfer &transfer, const std::string &name) {
    for (const SlotRange &read : transfer.reads)
      for (unsigned i = 0; holdsLL(program, read) && i < read.size(); ++i)
        edge(writers.at({read.rank, read[i]}), name, " [color = red]");
    for (unsigned i = 0; i < transfer.size(); ++i)
      if (holdsLL(program, transfer.write))
        writers[{transfer.write.rank, transfer.write[i]}] = name;
  }

  ProgramOp program;
  raw_ostream &os;
  // By op and channel: looked up, not iterated.
  llvm::DenseMap<Operation *, std::string> names;
  llvm::DenseMap<Operation *, std::string> last;
  llvm::DenseMap<Operation *, unsigned> counts, barriers;
  std::map<std::pair<FlagId, unsigned>, std::string> signals;
  std::map<std::pair<unsigned, unsigned>, std::string> writers; ///< of LL words
};
} // namespace

LogicalResult coll::printHappensBefore(ProgramOp program, raw_ostream &os) {
  return GraphPrinter(program, os).print();
}
