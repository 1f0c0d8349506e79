//===- Thread.cpp - A thread that executes PTX ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXCode.h"

#include <algorithm>

using namespace sccl::emulate;

namespace {
class Thread : public Runner {
public:
  /// Thread `number` of block `block`, which calls the kernel.
  Thread(const PTXCode &code, const Launch &launch, uint32_t block,
         uint32_t number);

  Stop run(Memory &memory, uint64_t turn,
           std::vector<uint64_t> &executed) override;

private:
  struct Frame {
    const Op *ops = nullptr;
    const Function *function = nullptr;
    size_t base = 0; ///< of its slots
    size_t next = 0; ///< of its ops
  };
  void push(const Function &function);
  uint64_t get(const Operand &operand) const {
    return operand.isSlot ? frameSlots[operand.value] : operand.value;
  }
  uint64_t &slot(uint32_t number) { return frameSlots[number]; }
  void compute(const Op &op);
  void access(const Op &op, Memory &memory);
  void accessSwitch(const Op &op, Memory &memory);
  bool isAligned(const Op &op, uint64_t address, size_t elements,
                 Memory &memory) const;
  void move(const Op &op);
  void pack(const Op &op);
  void call(const Op &op);
  bool leave();

  // A turn is often short, and rarely that of the thread before: what it needs
  // at once is in the thread itself.
  Frame frame; ///< of the function that runs
  uint64_t *frameSlots = nullptr;
  const PTXCode &code;
  std::vector<Frame> callers;
  std::vector<uint64_t> slots;
  uint64_t special[SpecialSlots] = {};
};
} // namespace

void Thread::push(const Function &function) {
  size_t base = slots.size();
  slots.resize(base + function.slots);
  frameSlots = slots.data() + base;
  std::copy(std::begin(special), std::end(special), frameSlots);
  frame = {function.ops.data(), &function, base, 0};
}

Thread::Thread(const PTXCode &code, const Launch &launch, uint32_t block,
               uint32_t number)
    : code(code) {
  special[ThreadSlot] = number;
  special[BlockSlot] = block;
  special[ThreadsSlot] = launch.threads;
  special[BlocksSlot] = launch.blocks;
  const Function &kernel = code.bodies[launch.kernel];
  slots.reserve(kernel.slots + code.mostSlots);
  push(kernel);
  size_t count = std::min(launch.arguments.size(), kernel.parameters.size());
  for (size_t i = 0; i < count; ++i)
    slot(kernel.parameters[i]) = launch.arguments[i];
}

std::unique_ptr<Runner> PTXCode::start(const Launch &launch, uint32_t block,
                                       uint32_t number) const {
  return std::make_unique<Thread>(*this, launch, block, number);
}

void Thread::compute(const Op &op) {
  uint64_t operands[3];
  for (size_t i = 0; i < op.sources.size(); ++i)
    operands[i] = get(op.sources[i]);
  slot(op.results.front()) = op.opcode->evaluate(operands);
}

/// The low bytes of a number, extended by zeros or the sign.
static uint64_t narrow(uint64_t value, unsigned bytes, bool isSigned) {
  unsigned unused = 64 - 8 * bytes;
  return isSigned ? uint64_t(int64_t(value << unused) >> unused)
                  : value << unused >> unused;
}

bool Thread::isAligned(const Op &op, uint64_t address, size_t elements,
                       Memory &memory) const {
  if (address % (elements * op.bytes) == 0)
    return true;
  memory.report(FindingKind::Fault, "line " + std::to_string(op.line) +
                                        ": the address is not aligned");
  return false;
}

/// Elements of a vector are accesses of their own, in any order.
void Thread::access(const Op &op, Memory &memory) {
  bool isLoad = op.form == Form::Load;
  uint64_t address = get(op.sources.front()) + op.offset;
  size_t elements = isLoad ? op.results.size() : op.sources.size() - 1;
  if (!isAligned(op, address, elements, memory))
    return;
  for (size_t i = 0; i < elements; ++i) {
    uint64_t at = address + i * op.bytes;
    if (isLoad)
      slot(op.results[i]) =
          narrow(memory.load(actor, at, op.bytes, op.order, op.scope, op.line),
                 op.bytes, op.isSigned);
    else
      memory.store(actor, at, op.bytes,
                   narrow(get(op.sources[i + 1]), op.bytes, false), op.order,
                   op.scope, op.line);
  }
}

void Thread::accessSwitch(const Op &op, Memory &memory) {
  bool isLoad = op.form == Form::SwitchLoad;
  uint64_t address = get(op.sources.front()) + op.offset;
  size_t elements = isLoad ? op.results.size() : op.sources.size() - 1;
  if (!isAligned(op, address, elements, memory))
    return;
  Summation how = memory.summationOf(actor.team->device);
  for (size_t i = 0; i < elements; ++i) {
    uint64_t at = address + i * op.bytes;
    if (isLoad) {
      llvm::SmallVector<uint64_t, 8> values =
          memory.loadEach(actor, at, op.bytes, op.order, op.scope, op.line);
      if (values.empty())
        return;
      slot(op.results[i]) = op.reduction(values, how);
      continue;
    }
    uint64_t operand = narrow(get(op.sources[i + 1]), op.bytes, false);
    if (op.form == Form::SwitchStore)
      memory.storeEach(actor, at, op.bytes, operand, op.order, op.scope,
                       op.line);
    else
      memory.changeEach(
          actor, at, op.bytes,
          [&](uint64_t value) {
            return op.reduction({value, operand}, how);
          },
          op.order, op.scope, op.line);
  }
}

void Thread::move(const Op &op) {
  slot(op.results.front()) =
      narrow(get(op.sources.front()), op.bytes, op.isSigned);
}

void Thread::pack(const Op &op) {
  uint64_t value = 0;
  if (op.form == Form::Pack) {
    for (size_t i = 0; i < op.sources.size(); ++i)
      value |= narrow(get(op.sources[i]), op.bytes, false)
               << (8 * op.bytes * i);
    slot(op.results.front()) = value;
    return;
  }
  value = get(op.sources.front());
  for (size_t i = 0; i < op.results.size(); ++i)
    slot(op.results[i]) = narrow(value >> (8 * op.bytes * i), op.bytes, false);
}

void Thread::call(const Op &op) {
  const Function &callee = code.bodies[op.target];
  llvm::SmallVector<uint64_t, 16> arguments;
  for (const Operand &source : op.sources)
    arguments.push_back(get(source));
  callers.push_back(frame);
  push(callee);
  size_t count = std::min(arguments.size(), callee.parameters.size());
  for (size_t i = 0; i < count; ++i)
    slot(callee.parameters[i]) = arguments[i];
}

/// Returns to the caller; false if there is none.
bool Thread::leave() {
  if (callers.empty())
    return false;
  uint64_t result = slot(frame.function->results.front());
  slots.resize(frame.base);
  frame = callers.back();
  callers.pop_back();
  frameSlots = slots.data() + frame.base;
  const Op &call = frame.ops[frame.next - 1];
  if (!call.results.empty())
    slot(call.results.front()) = result;
  return true;
}

Runner::Stop Thread::run(Memory &memory, uint64_t turn,
                         std::vector<uint64_t> &executed) {
  uint64_t end = time + turn;
  for (; turn != 0; --turn) {
    const Op &op = frame.ops[frame.next++];
    ++executed[op.number];
    if (op.isGuarded && (slot(op.guard) & 1) == op.isGuardNegated)
      continue;
    switch (op.form) {
    case Form::Compute:
      compute(op);
      break;
    case Form::Load:
    case Form::Store:
      access(op, memory);
      if (op.form == Form::Load && op.order != Order::Weak)
        return Stop::Turn;
      break;
    case Form::SwitchLoad:
    case Form::SwitchStore:
    case Form::SwitchChange:
      accessSwitch(op, memory);
      if (op.form == Form::SwitchLoad && op.order != Order::Weak)
        return Stop::Turn;
      break;
    case Form::Move:
      move(op);
      break;
    case Form::Pack:
    case Form::Unpack:
      pack(op);
      break;
    case Form::ReadClock:
      slot(op.results.front()) = end - turn;
      break;
    case Form::Branch:
      frame.next = op.target;
      break;
    case Form::Call:
      call(op);
      break;
    case Form::Barrier:
      return Stop::Barrier;
    case Form::Fence:
      memory.fence(actor, op.scope);
      break;
    case Form::AliasFence:
      actor.fenceAliases();
      break;
    case Form::Return:
      if (!leave())
        return Stop::Done;
      break;
    case Form::Exit:
      return Stop::Done;
    }
  }
  return Stop::Turn;
}
