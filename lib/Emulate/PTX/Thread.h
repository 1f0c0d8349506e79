//===- Thread.h - A thread that executes PTX --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_PTX_THREAD_H
#define SCCL_LIB_EMULATE_PTX_THREAD_H

#include "PTXCode.h"

namespace sccl::emulate {

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

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_PTX_THREAD_H
