//===- PTXCode.h - PTX, decoded ---------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function has a frame of slots of 64 bits: the special registers, then
// registers, predicates and parameters as they come up in its text.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_PTX_PTXCODE_H
#define SCCL_LIB_EMULATE_PTX_PTXCODE_H

#include "Emulate/Runner.h"
#include "Opcodes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace sccl::emulate {

struct Op;
struct Summation;

/// What a switch computes of elements.
struct SwitchReduction {
  enum class Kind : uint8_t { Add, Min, Max, And, Or, Xor };
  enum class Number : uint8_t { Unsigned, Signed, Bits, F16, BF16, Float };
  Kind kind = Kind::Add;
  Number number = Number::Bits;
  bool isPair = false; ///< two of 16 bits in an element
  bool isWide = false; ///< at least with the precision of f32
  uint8_t bytes = 0;   ///< of an element

  /// Of one element of each member of a group.
  uint64_t operator()(llvm::ArrayRef<uint64_t> values,
                      const Summation &how) const;
};

/// Reads "multimem.ld_reduce.weak.global.add.v4.f32" and what is like it, as
/// `ptxas` takes it for sm_90; returns the number of elements, or 0.
unsigned decodeMultimem(Op &op, llvm::StringRef opcode);

enum class Form : uint8_t {
  Compute,
  Load,
  Store,
  SwitchLoad, ///< multimem.ld_reduce
  SwitchStore,
  SwitchChange, ///< multimem.red
  Move,         ///< to or from a parameter
  Pack,         ///< registers into a wider one
  Unpack,       ///< and out of it
  ReadClock,
  Branch,
  Call,
  Barrier,
  Fence,
  AliasFence, ///< of proxies
  Return,
  Exit,
};

/// A slot of the frame, or a number.
struct Operand {
  bool isSlot = false;
  uint64_t value = 0; ///< or the slot
};

/// The special registers, by slot.
enum SpecialSlot : uint32_t {
  ThreadSlot,
  BlockSlot,
  ThreadsSlot,
  BlocksSlot,
  SpecialSlots
};

struct Op {
  Form form = Form::Compute;
  Order order = Order::Weak;
  Scope scope = Scope::System;
  uint8_t bytes = 0; ///< of an element of an access, or of what is moved
  bool isSigned = false;
  bool isGuarded = false, isGuardNegated = false;
  uint32_t guard = 0; ///< the slot of the predicate
  const Opcode *opcode = nullptr;
  SwitchReduction reduction; ///< of what switches do
  uint64_t offset = 0;       ///< of the address in `sources[0]`
  uint32_t target = 0;       ///< of a branch; the function of a call
  unsigned line = 0;         ///< of the text, from 1
  uint32_t name = 0;         ///< of the opcode, in Code::Parts::opcodes
  uint32_t number = 0;       ///< among all ops of the module
  llvm::SmallVector<uint32_t, 2> results;
  llvm::SmallVector<Operand, 2> sources;
};

/// Sets the scope of an access or fence, "gpu"; false if it is none.
bool decodeScope(Op &op, llvm::StringRef name);

struct Function {
  uint32_t slots = 0;
  std::vector<uint32_t> parameters; ///< slots, in order
  std::vector<uint32_t> results;    ///< slots, in order
  std::vector<Op> ops;
};

struct PTXCode : Code::Parts {
  std::vector<Function> bodies; ///< in the order of `functions`
  uint32_t mostSlots = 0;       ///< of a function

  unsigned lanes() const override { return 1; }
  std::unique_ptr<Runner> start(const Launch &launch, uint32_t block,
                                uint32_t number) const override;
};

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_PTX_PTXCODE_H
