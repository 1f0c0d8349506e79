//===- Runner.h - What a machine runs ---------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A runner executes instructions in turn: a thread of PTX, or a wavefront of
// GCN. Code of either kind starts them; machine and memory are the same.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_RUNNER_H
#define SCCL_LIB_EMULATE_RUNNER_H

#include "Memory.h"

#include "sccl/Emulate/Code.h"

namespace sccl::emulate {

/// What the runners of a block have brought to an end, by its last barrier.
/// Only wavefronts tell apart what has happened and what has ended.
struct Settled {
  Clock performed;     ///< accesses that have reached the caches of their GPU
  Clock written;       ///< of these, what has been written back to memory
  bool isIdle = false; ///< nothing was on its way
};

class Runner {
public:
  Actor actor;
  /// What the clock of its GPU shows when a turn begins. It goes on by one with
  /// each instruction.
  uint64_t time = 0;

  enum class Stop {
    Turn,    ///< its turn is over, or it has polled
    Barrier, ///< it has come to one
    Done,
  };
  virtual ~Runner() = default;
  /// Executes up to `turn` instructions, and counts them in `executed` by
  /// number.
  virtual Stop run(Memory &memory, uint64_t turn,
                   std::vector<uint64_t> &executed) = 0;
  /// All runners of the block have come to a barrier: joins what this one has
  /// brought to an end, and then takes over what all have.
  virtual void settle(Settled &settled) const { settled.isIdle = false; }
  virtual void resume(const Settled &) {}
};

struct Launch {
  uint32_t kernel = 0;  ///< index into Code::Parts::functions
  uint32_t blocks = 1;  ///< of the grid
  uint32_t threads = 1; ///< of a block
  std::vector<uint64_t> arguments;
  uint64_t argumentsAt = 0; ///< where memory has them
};

/// Where an instruction stands.
struct OpPlace {
  uint32_t name = 0; ///< of the opcode, in Code::Parts::opcodes
  unsigned line = 0; ///< of the text, from 1
};

struct FunctionName {
  std::string name;
  bool isKernel = false;
};

struct Code::Parts {
  std::vector<FunctionName> functions;
  std::vector<Constant> constants;
  std::vector<std::string> opcodes;
  std::vector<OpPlace> ops; ///< of all functions, by number

  virtual ~Parts() = default;
  /// How many threads a runner has.
  virtual unsigned lanes() const = 0;
  /// Makes runner `number` of block `block`.
  virtual std::unique_ptr<Runner> start(const Launch &launch, uint32_t block,
                                        uint32_t number) const = 0;
};

/// Where constants are; other memory is elsewhere.
inline constexpr uint64_t constantBase = uint64_t(1) << 32;

/// Decode a text, see Code::parse().
Result<std::unique_ptr<Code::Parts>> parsePTX(llvm::StringRef text);
Result<std::unique_ptr<Code::Parts>> parseGCN(llvm::StringRef text);

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_RUNNER_H
