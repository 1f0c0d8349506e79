//===- GCNCode.h - GCN, decoded ---------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All functions of a module are one row of instructions: calls and returns are
// jumps to addresses, as they are on the hardware.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_GCN_GCNCODE_H
#define SCCL_LIB_EMULATE_GCN_GCNCODE_H

#include "Opcodes.h"

#include "Emulate/Runner.h"

#include "llvm/ADT/DenseMap.h"

namespace sccl::emulate::gcn {

inline constexpr unsigned waveLanes = 64;
/// Where code is: as near to constants as an offset of 32 bits reaches.
inline constexpr uint64_t codeBase = constantBase - (uint64_t(1) << 28);

/// Scalar registers beside s0 to s101.
enum ScalarRegister : uint16_t {
  VccRegister = 106,
  ExecRegister = 126,
  ScalarRegisters = 128,
};
/// Registers of lanes: v0 to v255, and a0 to a255 behind them.
inline constexpr unsigned vectorRegisters = 512;
inline constexpr unsigned firstAccumulator = 256;

enum class Place : uint8_t { Number, Scalar, Vector };

/// Which part of a register of 32 bits an operand is.
struct Part {
  uint8_t from = 0, bits = 32;
};

struct Operand {
  Place place = Place::Number;
  uint16_t first = 0; ///< register
  uint8_t words = 0;  ///< registers
  Kind kind = Kind::Int32;
  bool isNegated = false, isAbsolute = false, isSigned = false;
  Part part;
  uint64_t number = 0;
};

enum class Form : uint8_t {
  Scalar,
  Vector,
  Packed,    ///< both halves of registers
  SaveExec,  ///< into a pair of registers, and computes a new one
  ReadFirst, ///< of the first lane that is active
  ReadLane,
  WriteLane,
  ReadClock,
  GetPC,
  Call,
  Jump,
  Branch,
  Load,
  Store,
  LoadScalar,
  LoadPrivate, ///< of a lane's own memory
  StorePrivate,
  WriteBack,    ///< caches
  InvalidateL2, ///< on chips where that is an instruction of its own
  Invalidate,
  Wait,
  Barrier,
  Nothing,
  End,
};

enum class Condition : uint8_t {
  Always,
  SCC0,
  SCC1,
  VccZero,
  VccNotZero,
  ExecZero,
  ExecNotZero
};

struct Op {
  Form form = Form::Nothing;
  Condition condition = Condition::Always;
  Order order = Order::Weak;
  Scope scope = Scope::System;
  bool isSigned = false;  ///< of what is loaded
  uint8_t bytes = 0;      ///< of an access, in each lane
  int8_t vectorWait = -1; ///< accesses that may be on their way; -1: all
  bool scalarWait = false;
  uint8_t low = 0, high = 0; ///< of Packed: by source, which half goes there
  Part part;                 ///< of the result
  const Opcode *opcode = nullptr;
  int64_t offset = 0;
  uint32_t target = 0; ///< of a branch
  llvm::SmallVector<Operand, 4> results;
  llvm::SmallVector<Operand, 4> sources;
};

/// What a kernel finds in its registers, from its .amdhsa_ directives.
struct KernelRegisters {
  uint32_t firstOp = 0;
  uint16_t arguments = 0;     ///< a pair
  int16_t privateBuffer = -1; ///< four, if it has them
  int16_t privateOffset = -1;
  uint16_t block = 0;
  uint32_t privateBytes = 0; ///< of each lane
};

struct GCNCode : Code::Parts {
  std::vector<Op> body;            ///< by number
  std::vector<uint64_t> addresses; ///< by number
  llvm::DenseMap<uint64_t, uint32_t> opAt;
  std::vector<KernelRegisters> kernels; ///< by function
  bool hasScopeBits = false;            ///< gfx942: accesses say their scope
  unsigned usedVectors = 0, usedAccumulators = 0; ///< registers

  unsigned lanes() const override { return waveLanes; }
  std::unique_ptr<Runner> start(const Launch &launch, uint32_t block,
                                uint32_t number) const override;
};

} // namespace sccl::emulate::gcn

#endif // SCCL_LIB_EMULATE_GCN_GCNCODE_H
