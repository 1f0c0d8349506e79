//===- ProgramEmitter.cpp - Code for one rank's channels ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

KernelArguments KernelArguments::of(ValueRange values) {
  return {values[0], values[1], values[2], values[3],
          values[4], values[5], values[6]};
}

SmallVector<Type> KernelArguments::types(Type pointer) {
  SmallVector<Type> result(6, pointer);
  result.push_back(IntegerType::get(pointer.getContext(), 64));
  return result;
}

ProgramContext::ProgramContext(ProgramOp program, const Collective &collective,
                               bool averages)
    : name(program.getSymName()), collective(collective),
      signals(program), layout{collective.numRanks(), program.getBlocks()},
      averages(averages) {}

std::string ProgramContext::functionName(unsigned rank) const {
  return name + "_rank" + std::to_string(rank);
}

ProgramEmitter::ProgramEmitter(OpBuilder &builder, Location loc,
                               const ProgramContext &context, unsigned rank,
                               const KernelArguments &arguments, Value block)
    : builder(builder), loc(loc), context(context), rank(rank),
      arguments(arguments), block(block) {}

Value ProgramEmitter::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value ProgramEmitter::constant32(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

Value ProgramEmitter::offset(Value base, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             base, ArrayRef<LLVM::GEPArg>{bytes});
}

void ProgramEmitter::call(StringRef helper, ValueRange operands) {
  LLVM::CallOp::create(builder, loc, TypeRange{}, helper, operands);
}

/// The `field`-th address of the peer's entry in the table of peers. It is
/// loaded anew for each use: a register that holds it across calls costs more.
Value ProgramEmitter::peerAddress(unsigned peer, unsigned field) {
  constexpr unsigned word = sizeof(void *);
  Value entry = offset(arguments.peers,
                       constant(peer * sizeof(PeerEntry) + field * word));
  return LLVM::LoadOp::create(builder, loc, arguments.peers.getType(), entry,
                              /*alignment=*/word);
}

static constexpr unsigned controlField = 3;

/// Pointer, segment and chunk of the first slot of `range`.
std::array<Value, 3> ProgramEmitter::slotOperands(const SlotRange &range) {
  // The fields of PeerEntry are in the order of the enumeration.
  Value own[] = {arguments.input, arguments.output, arguments.scratch};
  unsigned field = unsigned(range.buffer);
  Value base = range.rank == rank ? own[field] : peerAddress(range.rank, field);
  // Scratch is one long segment.
  if (range.buffer == Buffer::Scratch)
    return {base, constant32(0), constant32(range.slot)};
  unsigned perSegment = context.collective.chunksPerSegment();
  return {base, constant32(range.slot / perSegment),
          constant32(range.slot % perSegment)};
}

void ProgramEmitter::begin(unsigned peer) {
  epochRow = constant32(context.layout.epoch(peer));
  launch = LLVM::CallOp::create(builder, loc, TypeRange{builder.getI64Type()},
                                "coll_begin",
                                ValueRange{arguments.control, epochRow, block})
               .getResult();
}

void ProgramEmitter::end() {
  call("coll_end", {arguments.control, epochRow, block, launch});
}

void ProgramEmitter::emitTransfer(Operation *op, const Transfer &transfer) {
  SmallVector<Value> operands;
  llvm::append_range(operands, slotOperands(transfer.write));
  for (const SlotRange &read : transfer.reads)
    llvm::append_range(operands, slotOperands(read));
  unsigned position = transfer.chunk % context.collective.chunksPerSegment();
  operands.append({constant32(position), constant32(transfer.count),
                   arguments.segment,
                   constant32(context.collective.chunksPerSegment()), block,
                   constant32(context.layout.blocks)});
  auto combine = dyn_cast<CombineOp>(op);
  if (combine && context.averages) {
    size_t divisor = 0;
    if (combine.getFinal())
      divisor = context.collective.pre().ranksOf(transfer.chunk).size();
    operands.push_back(constant32(divisor));
  }
  call(combine ? "coll_reduce" : "coll_transfer", operands);
}

/// Operands of a signal from `src` to `dst`, or of a wait for it.
SmallVector<Value> ProgramEmitter::flagOperands(Value control, Flag flag,
                                                unsigned src, unsigned dst,
                                                unsigned value) {
  bool isReady = flag == Flag::Ready;
  uint64_t row =
      isReady ? context.layout.ready(src) : context.layout.arrival(src);
  unsigned perLaunch = isReady ? 1 : context.signals.arrivals(src, dst);
  return {control, constant32(row),       block,
          launch,  constant32(perLaunch), constant32(value)};
}

void ProgramEmitter::emit(ChannelOp channel, Operation *op) {
  if (std::optional<Transfer> transfer = getTransfer(op))
    return emitTransfer(op, *transfer);
  if (auto signal = dyn_cast<SignalOp>(op)) {
    unsigned peer = signal.getPeer();
    Value control =
        peer == rank ? arguments.control : peerAddress(peer, controlField);
    return call("coll_signal", flagOperands(control, signal.getFlag(), rank,
                                            peer, signal.getValue()));
  }
  auto wait = cast<WaitOp>(op);
  SmallVector<Value> operands = flagOperands(
      arguments.control, wait.getFlag(), wait.getPeer(), rank, wait.getValue());
  operands.push_back(arguments.abort);
  call("coll_wait", operands);
}

void coll::insertHelpers(Block &body, const HelperOptions &options) {
  MLIRContext *context = body.getParentOp()->getContext();
  OwningOpRef<ModuleOp> helpers =
      parseSourceString<ModuleOp>(helperModuleText(options), context);
  assert(helpers && "the helper text is part of the compiler");
  body.getOperations().splice(body.end(), helpers->getBody()->getOperations());
}

void coll::eraseCollOps(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<CollDialect>(op.getDialect()))
      op.erase();
}

bool coll::hasCombine(ProgramOp program) {
  return program->walk([](CombineOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}
