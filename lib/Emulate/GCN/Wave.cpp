//===- Wave.cpp - A wavefront that executes GCN ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wave.h"

#include <bit>

using namespace sccl::emulate;
using namespace sccl::emulate::gcn;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

Wave::Wave(const GCNCode &code, const Launch &launch, uint32_t block,
           uint32_t number)
    : code(code), kernel(code.kernels[launch.kernel]), next(kernel.firstOp) {
  for (unsigned i = 0; i < firstAccumulator; ++i)
    rowOf[firstAccumulator + i] = code.usedVectors + i;
  for (unsigned i = 0; i < firstAccumulator; ++i)
    rowOf[i] = i;
  // What nobody has written is not zero.
  scalars.fill(0xbad5ca1e);
  vectors.resize((code.usedVectors + code.usedAccumulators + 1) * waveLanes,
                 0xbadbad77);
  privateMemory.resize(kernel.privateBytes / 4 * waveLanes, 0xbadf111);
  setUp(launch, block, number);
}

std::unique_ptr<Runner> GCNCode::start(const Launch &launch, uint32_t block,
                                       uint32_t number) const {
  return std::make_unique<Wave>(*this, launch, block, number);
}

void Wave::setUp(const Launch &launch, uint32_t block, uint32_t number) {
  setPair(kernel.arguments, launch.argumentsAt);
  scalars[kernel.block] = block;
  // Where lanes have their own memory is nobody's business: any numbers do, if
  // accesses bring them.
  if (kernel.privateBuffer >= 0) {
    uint32_t offset = kernel.privateOffset >= 0 ? 0x1000 * number : 0;
    privateBuffer = {0x51000000 + offset, 0x7f00, 0x1000000, 0xe00000};
    for (unsigned i = 0; i < 4; ++i)
      scalars[kernel.privateBuffer + i] = privateBuffer[i];
    scalars[kernel.privateBuffer] -= offset;
    if (kernel.privateOffset >= 0)
      scalars[kernel.privateOffset] = offset;
  }
  uint32_t firstThread = number * waveLanes;
  uint32_t active = std::min(launch.threads - firstThread, waveLanes);
  setPair(ExecRegister, ~uint64_t(0) >> (waveLanes - active));
  for (unsigned lane = 0; lane < waveLanes && code.usedVectors != 0; ++lane)
    vector(0, lane) = firstThread + lane;
}

void Wave::setPair(unsigned first, uint64_t value) {
  scalars[first] = uint32_t(value);
  scalars[first + 1] = value >> 32;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static uint64_t maskOf(unsigned bits) { return ~uint64_t(0) >> (64 - bits); }

uint64_t Wave::scalar(const Operand &operand) const {
  if (operand.place == Place::Number)
    return operand.number;
  return operand.words == 2 ? pair(operand.first) : scalars[operand.first];
}

/// Takes a part of `bits`, and turns its sign.
uint64_t Wave::modified(const Operand &operand, uint64_t bits) const {
  if (operand.part.bits != 32) {
    bits = bits >> operand.part.from & maskOf(operand.part.bits);
    unsigned above = 64 - operand.part.bits;
    if (operand.isSigned)
      bits = uint64_t(int64_t(bits << above) >> above);
  }
  unsigned width = bitsOf(operand.kind);
  bits &= maskOf(width);
  uint64_t sign = uint64_t(1) << (width - 1);
  if (operand.isAbsolute)
    bits &= ~sign;
  return operand.isNegated ? bits ^ sign : bits;
}

/// Of lanes that are active.
void Wave::read(const Operand &operand, Column &column) {
  if (operand.place != Place::Vector)
    return column.fill(modified(operand, scalar(operand)));
  const uint32_t *row = &vector(operand.first, 0);
  bool isWhole =
      operand.part.bits == 32 && !operand.isAbsolute && !operand.isNegated;
  uint64_t mask = maskOf(bitsOf(operand.kind));
  for (uint64_t left = exec(); left != 0; left &= left - 1) {
    unsigned lane = std::countr_zero(left);
    uint64_t bits = row[lane];
    if (operand.words == 2)
      bits |= uint64_t(row[waveLanes + lane]) << 32;
    column[lane] = isWhole ? bits & mask : modified(operand, bits);
  }
}

/// To lanes that are active.
void Wave::write(const Operand &operand, const Column &column, Part part) {
  uint64_t mask = maskOf(bitsOf(operand.kind));
  unsigned from = 0;
  if (part.bits != 32) {
    mask &= maskOf(part.bits);
    from = part.from;
  }
  uint32_t *row = &vector(operand.first, 0);
  for (uint64_t left = exec(); left != 0; left &= left - 1) {
    unsigned lane = std::countr_zero(left);
    uint64_t value = (column[lane] & mask) << from;
    row[lane] = uint32_t(value);
    if (operand.words == 2)
      row[waveLanes + lane] = value >> 32;
  }
}

bool Wave::isOnItsWay(const Operand &operand) const {
  for (unsigned i = operand.first; i < operand.first + operand.words; ++i)
    if (operand.place == Place::Vector
            ? filledBy[i] > ended
            : operand.place == Place::Scalar && areScalarsOnTheirWay[i])
      return true;
  return false;
}

/// A register that an access fills may be neither read nor written.
void Wave::checkRegisters(const Op &op, Memory &memory) {
  for (const Operand &operand : op.sources)
    if (isOnItsWay(operand))
      return report(op, FindingKind::Unawaited,
                    "a register is read before its load has ended", memory);
  for (const Operand &operand : op.results)
    if (isOnItsWay(operand))
      return report(op, FindingKind::Unawaited,
                    "a register is written before its load has ended", memory);
}

void Wave::report(const Op &op, FindingKind kind, const std::string &what,
                  Memory &memory) const {
  memory.report(kind, "line " + std::to_string(lineOf(op)) + ": " + what);
}

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

void Wave::executeScalar(const Op &op) {
  Lane lane;
  lane.flag = scc;
  for (auto [i, source] : llvm::enumerate(op.sources))
    lane.in[i] = scalar(source);
  op.opcode->evaluate(lane);
  if (!op.results.empty()) {
    const Operand &result = op.results.front();
    if (result.words == 2)
      setPair(result.first, lane.out);
    else
      scalars[result.first] = uint32_t(lane.out);
  }
  if (llvm::is_contained(op.opcode->results, Kind::SCC))
    scc = lane.flag;
}

void Wave::executeVector(const Op &op, Memory &memory) {
  Column columns[3], outputs;
  uint64_t flags = 0, newFlags = 0;
  unsigned numbers = 0;
  for (const Operand &source : op.sources)
    if (source.kind == Kind::Mask)
      flags = scalar(source);
    else
      read(source, columns[numbers++]);
  const char *refusal = nullptr;
  const Operand *result = nullptr, *mask = nullptr;
  for (const Operand &operand : op.results)
    (operand.kind == Kind::Mask ? mask : result) = &operand;
  for (uint64_t left = exec(); left != 0; left &= left - 1) {
    unsigned i = std::countr_zero(left);
    Lane lane;
    for (unsigned k = 0; k < numbers; ++k)
      lane.in[k] = columns[k][i];
    lane.flag = flags >> i & 1;
    op.opcode->evaluate(lane);
    if (lane.refusal)
      refusal = lane.refusal;
    newFlags |= uint64_t(lane.flag) << i;
    outputs[i] = lane.out;
  }
  if (result)
    write(*result, outputs, op.part);
  if (mask)
    setPair(mask->first, newFlags);
  if (refusal)
    report(op, FindingKind::Fault,
           std::string(refusal) + " is more than is known here", memory);
}

/// Both halves of the result, each of one half of every source.
void Wave::executePacked(const Op &op) {
  Column columns[2], outputs;
  for (auto [i, source] : llvm::enumerate(op.sources))
    read(source, columns[i]);
  unsigned bits = op.results.front().kind == Kind::Floats ? 32 : 16;
  auto half = [&](unsigned source, unsigned lane, unsigned which) {
    return columns[source][lane] >> ((which >> source & 1) * bits) &
           maskOf(bits);
  };
  auto compute = [&](unsigned i, unsigned which) {
    Lane lane;
    lane.in[0] = half(0, i, which);
    lane.in[1] = half(1, i, which);
    op.opcode->evaluate(lane);
    return lane.out & maskOf(bits);
  };
  for (unsigned i = 0; i < waveLanes; ++i) {
    if (!isActive(i))
      continue;
    // v_pk_mov_b32 has a half of each source.
    uint64_t low =
        op.opcode->evaluate ? compute(i, op.low) : half(0, i, op.low);
    uint64_t high =
        op.opcode->evaluate ? compute(i, op.high) : half(1, i, op.low);
    outputs[i] = high << bits | low;
  }
  write(op.results.front(), outputs, op.part);
}

/// "s_andn2_saveexec_b64": the first operand is the one in the text.
void Wave::saveExec(const Op &op) {
  Lane lane;
  lane.in[0] = scalar(op.sources.front());
  lane.in[1] = exec();
  setPair(op.results.front().first, exec());
  op.opcode->evaluate(lane);
  setPair(ExecRegister, lane.out);
  scc = lane.flag;
}

/// Between a lane and a scalar register, whatever lanes are active.
void Wave::moveLane(const Op &op) {
  const Operand &result = op.results.front(), &source = op.sources.front();
  unsigned lane = op.form == Form::ReadFirst
                      ? (exec() == 0 ? 0 : std::countr_zero(exec()))
                      : scalar(op.sources[1]) % waveLanes;
  if (op.form == Form::WriteLane)
    vector(result.first, lane) = uint32_t(scalar(source));
  else
    scalars[result.first] = vector(source.first, lane);
}

/// It comes like what a scalar load brings.
void Wave::readClock(const Op &op, uint64_t now) {
  unsigned first = op.results.front().first;
  setPair(first, now);
  areScalarsOnTheirWay[first] = areScalarsOnTheirWay[first + 1] = true;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

bool Wave::isTaken(Condition condition) const {
  switch (condition) {
  case Condition::Always:
    return true;
  case Condition::SCC0:
    return !scc;
  case Condition::SCC1:
    return scc;
  case Condition::VccZero:
    return pair(VccRegister) == 0;
  case Condition::VccNotZero:
    return pair(VccRegister) != 0;
  case Condition::ExecZero:
    return exec() == 0;
  case Condition::ExecNotZero:
    return exec() != 0;
  }
  return false;
}

void Wave::jump(uint64_t address, Memory &memory) {
  auto found = code.opAt.find(address);
  if (found != code.opAt.end())
    next = found->second;
  else
    report(code.body[next - 1], FindingKind::Fault,
           "there is no instruction at " + std::to_string(address), memory);
}

/// False if `op` is something else.
bool Wave::executeControl(const Op &op, Memory &memory) {
  switch (op.form) {
  case Form::GetPC:
    setPair(op.results.front().first, code.addresses[next]);
    return true;
  case Form::Call: {
    uint64_t target = scalar(op.sources.front());
    setPair(op.results.front().first, code.addresses[next]);
    jump(target, memory);
    return true;
  }
  case Form::Jump:
    jump(scalar(op.sources.front()), memory);
    return true;
  case Form::Branch:
    if (isTaken(op.condition))
      next = op.target;
    return true;
  case Form::Nothing:
    return true;
  default:
    return false;
  }
}

Runner::Stop Wave::run(Memory &memory, uint64_t turn,
                       std::vector<uint64_t> &executed) {
  uint64_t end = time + turn;
  for (; turn != 0; --turn) {
    const Op &op = code.body[next];
    ++executed[next++];
    checkRegisters(op, memory);
    if (op.form == Form::Scalar)
      executeScalar(op);
    else if (op.form == Form::Vector)
      executeVector(op, memory);
    else if (op.form == Form::Packed)
      executePacked(op);
    else if (op.form == Form::SaveExec)
      saveExec(op);
    else if (op.form == Form::ReadFirst || op.form == Form::ReadLane ||
             op.form == Form::WriteLane)
      moveLane(op);
    else if (op.form == Form::ReadClock)
      readClock(op, end - turn);
    else if (op.form == Form::Barrier)
      return Stop::Barrier;
    else if (op.form == Form::End)
      return Stop::Done;
    else if (!executeControl(op, memory) && executeMemory(op, memory))
      return Stop::Turn;
  }
  return Stop::Turn;
}
