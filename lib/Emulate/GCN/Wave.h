//===- Wave.h - A wavefront that executes GCN -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To memory a wavefront is one thread: the accesses of its lanes are made in
// their order, and its waits are for all of them. What the LLVM memory model of
// gfx90a and gfx942 says becomes the order of Memory.h in this way:
//
//  - An access is on its way until `s_waitcnt vmcnt` has waited for it. Its
//    registers may not be used before.
//  - Wavefronts of a block share a cache, so a barrier orders what they do
//  among
//    themselves. But others see only what has been written back: by
//    `buffer_wbl2`, of the same wavefront's stores before it, and of what was
//    no longer on its way when the block joined. It has an end, which has to be
//    waited for like that of an access.
//  - An ordered store makes known what has been written back before. Loads,
//  too,
//    count as ended for others then and not before, which is more than the
//    hardware asks for.
//  - An ordered load has read what another GPU makes known. It is known to the
//    wavefront when caches have been invalidated after its end.
//
// The end of a kernel does all of this. Only what is constant may be read by
// scalar loads, whose cache nothing here invalidates.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_GCN_WAVE_H
#define SCCL_LIB_EMULATE_GCN_WAVE_H

#include "GCNCode.h"

#include <array>
#include <deque>

namespace sccl::emulate::gcn {

class Wave : public Runner {
public:
  /// Wavefront `number` of block `block`.
  Wave(const GCNCode &code, const Launch &launch, uint32_t block,
       uint32_t number);

  Stop run(Memory &memory, uint64_t turn,
           std::vector<uint64_t> &executed) override;
  void settle(Settled &settled) const override;
  void resume(const Settled &settled) override;

private:
  using Column = std::array<uint64_t, waveLanes>;

  /// What is on its way.
  struct Access {
    uint32_t number = 0;
    llvm::SmallVector<uint32_t, 4> reads; ///< writes that ordered loads got
    std::unique_ptr<Clock> written;       ///< what will be written back
  };

  // Registers.
  uint32_t &vector(unsigned first, unsigned lane) {
    return vectors[rowOf[first] * waveLanes + lane];
  }
  unsigned lineOf(const Op &op) const {
    return code.ops[&op - code.body.data()].line;
  }
  uint64_t pair(unsigned first) const {
    return uint64_t(scalars[first + 1]) << 32 | scalars[first];
  }
  void setPair(unsigned first, uint64_t value);
  uint64_t exec() const { return pair(ExecRegister); }
  bool isActive(unsigned lane) const { return exec() >> lane & 1; }
  void setUp(const Launch &launch, uint32_t block, uint32_t number);

  // Operands.
  uint64_t scalar(const Operand &operand) const;
  void read(const Operand &operand, Column &column);
  uint64_t modified(const Operand &operand, uint64_t bits) const;
  void write(const Operand &operand, const Column &column, Part part);
  void checkRegisters(const Op &op, Memory &memory);
  bool isOnItsWay(const Operand &operand) const;

  // Instructions.
  void executeScalar(const Op &op);
  void executeVector(const Op &op, Memory &memory);
  void executePacked(const Op &op);
  void saveExec(const Op &op);
  void moveLane(const Op &op);
  void readClock(const Op &op, uint64_t now);
  bool isTaken(Condition condition) const;
  void jump(uint64_t address, Memory &memory);
  bool executeControl(const Op &op, Memory &memory);
  bool executeMemory(const Op &op, Memory &memory);

  // Memory.
  Access &begin();
  uint64_t addressOf(const Op &op, unsigned lane);
  void load(const Op &op, Memory &memory);
  void store(const Op &op, Memory &memory);
  unsigned pieceOf(const Op &op, uint64_t address, Memory &memory) const;
  void checkLanes(const Op &op, Memory &memory);
  void loadScalar(const Op &op, Memory &memory);
  void accessPrivate(const Op &op, Memory &memory);
  void writeBack(const Op &op);
  void invalidate(const Op &op, Memory &memory);
  void wait(const Op &op);
  void report(const Op &op, FindingKind kind, const std::string &what,
              Memory &memory) const;

  const GCNCode &code;
  const KernelRegisters &kernel;
  uint32_t next = 0; ///< instruction
  std::array<uint32_t, ScalarRegisters> scalars;
  std::array<bool, ScalarRegisters> areScalarsOnTheirWay = {};
  bool scc = false;
  std::vector<uint32_t> vectors; ///< rows of a register of all lanes
  std::array<uint16_t, vectorRegisters> rowOf = {};
  /// By register, the last access that fills it.
  std::array<uint32_t, vectorRegisters> filledBy = {};
  std::vector<uint32_t> privateMemory; ///< words of lanes, lane by lane
  std::array<uint32_t, 4> privateBuffer = {};

  uint32_t begun = 0, ended = 0; ///< accesses
  std::deque<Access> onTheirWay;
  llvm::SmallVector<uint32_t, 4> arrived; ///< reads that have ended
  size_t arrivedAtL2 = 0; ///< of these, how many before the last buffer_invl2
  Clock performed;        ///< what a write-back covers
  Clock written;          ///< what has been written back
  bool isWrittenNew = false;
};

} // namespace sccl::emulate::gcn

#endif // SCCL_LIB_EMULATE_GCN_WAVE_H
