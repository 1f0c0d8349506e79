//===- Machine.h - GPUs that execute assembly -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several GPUs, each with a stream of work, that share their memory as peers
// do. All of their threads run, a few instructions at a time and in a random
// order, on memory that is weakly ordered (lib/Emulate/Memory.h). Blocks begin
// late, stop for a while and go on. The same seed gives the same execution.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EMULATE_MACHINE_H
#define SCCL_EMULATE_MACHINE_H

#include "sccl/Emulate/Code.h"
#include "sccl/Emulate/Findings.h"

#include <cstdint>
#include <functional>
#include <set>

namespace sccl::emulate {

struct Settings {
  uint64_t seed = 0;
  /// Whether loads may get what is not the newest. Races are found either way.
  bool weak = true;
  /// How far the clock of each GPU is ahead of that of the one before; all
  /// count instructions of all GPUs.
  uint64_t clockDistance = 0;
  /// Ends with FindingKind::NoProgress after so many instructions.
  uint64_t instructions = uint64_t(1) << 32;
};

/// What was executed of a text.
struct Execution {
  uint64_t instructions = 0;
  std::vector<uint64_t> byOpcode; ///< how often each of Code::opcodes()
  std::set<unsigned> lines;       ///< of the text, from 1
};

class Machine {
public:
  /// `streams` GPUs with a stream each, and up to `blocks` blocks in a kernel.
  Machine(const Code &code, unsigned streams, unsigned blocks,
          unsigned blockSize, const Settings &settings);
  ~Machine();

  /// Memory at an address that all GPUs know, zeroed. The name is for findings.
  uint64_t allocate(uint64_t bytes, std::string name);
  /// The same, with data that nobody may write any more.
  uint64_t allocateConstant(const void *data, uint64_t bytes, std::string name);
  /// An address that the GPUs have at a switch for what begins at each of
  /// `members`: addresses that allocate() gave, with bytes of their own.
  /// Kernels access it by multimem only.
  uint64_t
  allocateMulticast(const std::vector<std::pair<uint64_t, uint64_t>> &members,
                    std::string name);

  // All these happen in the order in which a stream gets them.
  /// Runs a kernel of the code, on 64-bit arguments; a finding, at once, if
  /// there is none of that name.
  void launch(unsigned stream, const std::string &kernel, unsigned blocks,
              std::vector<uint64_t> arguments);
  /// The host of the stream writes to memory, or reads it.
  void write(unsigned stream, uint64_t address, std::string bytes);
  void read(unsigned stream, uint64_t address, uint64_t bytes,
            std::function<void(const std::string &)> use);
  /// Nobody goes on before all streams have come here.
  void meet();

  /// Executes everything. Ends early at a fault, or without progress.
  void run();

  const Findings &findings() const;
  Execution execution() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace sccl::emulate

#endif // SCCL_EMULATE_MACHINE_H
