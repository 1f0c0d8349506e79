//===- Thread.h - A thread that executes PTX --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_THREAD_H
#define SCCL_LIB_EMULATE_THREAD_H

#include "Memory.h"

namespace sccl::emulate {

/// What a block has in its special registers.
struct Place {
  uint32_t block = 0, blocks = 1, threads = 1;
};

class Thread {
public:
  Actor actor;

  /// Makes the thread call a kernel.
  void begin(const Function &kernel, uint32_t number, const Place &place,
             const std::vector<uint64_t> &arguments);

  enum class Stop {
    Turn,    ///< its turn is over, or it has polled
    Barrier, ///< it has come to one
    Done,
  };
  /// Executes up to `turn` instructions, and counts them in `executed` by
  /// number.
  Stop run(const Code::Parts &code, Memory &memory, uint64_t turn,
           std::vector<uint64_t> &executed);

private:
  struct Frame {
    const Function *function;
    size_t base; ///< of its slots
    size_t next; ///< of its ops
  };
  void push(const Function &function);
  uint64_t get(const Operand &operand) const {
    return operand.isSlot ? slots[frames.back().base + operand.slot]
                          : operand.value;
  }
  uint64_t &slot(uint32_t number) { return slots[frames.back().base + number]; }
  void compute(const Op &op);
  void access(const Op &op, Memory &memory);
  void move(const Op &op);
  void pack(const Op &op);
  void call(const Op &op, const Code::Parts &code);
  void leave();

  std::vector<Frame> frames;
  std::vector<uint64_t> slots;
  uint64_t special[SpecialSlots] = {};
};

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_THREAD_H
