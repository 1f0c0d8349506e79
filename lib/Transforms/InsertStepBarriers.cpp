//===- InsertStepBarriers.cpp - One kernel per step -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Analysis/SlotNumbering.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_INSERTSTEPBARRIERS
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// A transfer and the part of the program, from 0, that executes it.
struct PlacedTransfer {
  Operation *op;
  ChannelOp channel;
  Transfer effect;
  unsigned part = 0;
};

class StepBarriers {
public:
  explicit StepBarriers(ProgramOp program) : program(program), slots(program) {}

  LogicalResult run() {
    collect();
    if (failed(place()))
      return failure();
    insert();
    return success();
  }

private:
  static constexpr uint32_t none = ~0u;

  void collect() {
    writers.assign(slots.size(), none);
    program.walk([&](ChannelOp channel) {
      for (Operation &op : channel.getBody().getOps()) {
        Transfer effect = *getTransfer(&op);
        slots.forEach(effect.write,
                      [&](size_t slot) { writers[slot] = transfers.size(); });
        transfers.push_back({&op, channel, effect});
      }
    });
  }

  /// The first part in which `transfer` can be, given the parts of the others.
  unsigned earliest(const PlacedTransfer &transfer) const {
    unsigned part = 0;
    uint32_t last = none;
    for (const SlotRange &read : transfer.effect.reads)
      slots.forEach(read, [&](size_t slot) {
        if (writers[slot] == none || writers[slot] == last)
          return;
        last = writers[slot];
        const PlacedTransfer &writer = transfers[last];
        // Only the threads of one channel see what they did themselves.
        bool isSameThreads = writer.channel == transfer.channel &&
                             !isDMA(writer.op) && !isDMA(transfer.op);
        part = std::max(part, writer.part + !isSameThreads);
      });
    return part;
  }

  /// Fails if transfers depend on each other in a cycle.
  LogicalResult place() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < transfers.size(); ++i) {
        unsigned part = earliest(transfers[i]);
        if (i > 0 && transfers[i - 1].channel == transfers[i].channel)
          part = std::max(part, transfers[i - 1].part);
        if (part > transfers.size())
          return transfers[i].op->emitOpError(
              "needs what it writes itself, by way of other transfers");
        changed |= part != transfers[i].part;
        transfers[i].part = part;
        numParts = std::max(numParts, part + 1);
      }
    }
    return success();
  }

  void insert() {
    llvm::DenseMap<Operation *, unsigned> partOf; // looked up, not iterated
    for (const PlacedTransfer &transfer : transfers)
      partOf[transfer.op] = transfer.part;
    program.walk([&](ChannelOp channel) {
      OpBuilder builder(channel.getContext());
      if (channel.getBody().empty())
        builder.createBlock(&channel.getBody());
      unsigned barriers = 0;
      auto barriersUpTo = [&](unsigned count) {
        for (; barriers < count; ++barriers)
          BarrierOp::create(builder, channel.getLoc());
      };
      for (Operation &op : channel.getBody().getOps()) {
        builder.setInsertionPoint(&op);
        barriersUpTo(partOf.at(&op) + 1);
      }
      builder.setInsertionPointToEnd(&channel.getBody().front());
      barriersUpTo(numParts + 1);
    });
  }

  ProgramOp program;
  std::vector<PlacedTransfer> transfers;
  SlotNumbering slots;
  std::vector<uint32_t> writers; ///< by slot: the transfer, or none
  unsigned numParts = 0;
};

struct InsertStepBarriersPass
    : coll::impl::InsertStepBarriersBase<InsertStepBarriersPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (!isSynchronized(program) && failed(StepBarriers(program).run()))
      return signalPassFailure();
    markAnalysesPreserved<ProblemAnalysis>();
  }
};
} // namespace
