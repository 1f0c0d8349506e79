//===- Execution.h - Programs of a plan with delays -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes a program of a plan that was compiled with --instrument, each rank
// as a thread, launch after launch, without libsccl: but for what the program
// itself does, nothing orders the ranks, so ThreadSanitizer sees what is
// missing. Before each op a rank may be delayed, by chance.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_EXECUTE_EXECUTION_H
#define SCCL_TOOLS_SCCL_EXECUTE_EXECUTION_H

#include "sccl/ABI/HostSteps.h"
#include "sccl/Model/ElementType.h"
#include "sccl/Plan/Plan.h"

#include <memory>

namespace sccl {

/// A signal or wait of a thread: the `index`-th of each launch.
struct SyncOp {
  unsigned thread = 0, index = 0;
};

struct ExecutionOptions {
  unsigned launches = 3;
  uint64_t count = 1000; ///< elements of a segment
  unsigned seed = 1;
  unsigned delayMicroseconds = 50; ///< the longest delay
  std::optional<SyncOp> drop = std::nullopt;
};

struct ExecutionResult {
  uint64_t elements = 0; ///< that were compared
  uint64_t wrong = 0;
  std::string firstWrong;
  /// All threads that were not done waited for each other.
  bool isStuck = false;
  struct Sync {
    bool isWait = false;
    /// Sets flags that the same thread sets again in the launch, and no other:
    /// whoever waits for it is content with the later signal.
    bool isMadeUpFor = false;
  };
  /// By thread, its name and the signals and waits of a launch.
  struct Thread {
    std::string name;
    std::vector<Sync> syncOps;
  };
  std::vector<Thread> threads;
};

class Worker;

class Execution {
public:
  /// Loads the code of kernel `kernel` of `plan`. The plan must live as long.
  static Result<std::unique_ptr<Execution>>
  create(const plan::Plan &plan, unsigned kernel,
         const ExecutionOptions &options);
  ~Execution();

  /// Executes all launches. Fails if the collective is not known.
  Result<ExecutionResult> run();

  /// Allocated memory, which begins as zeros.
  struct FreeMemory {
    void operator()(char *memory) const;
  };
  using Memory = std::unique_ptr<char, FreeMemory>;

private:
  friend class Worker;
  Execution(const plan::Plan &plan, const plan::KernelInfo &kernel,
            const ExecutionOptions &options)
      : plan(plan), kernel(kernel), options(options) {}
  std::optional<Error> load();
  void allocate();
  const plan::ProgramEntry &program() const;
  unsigned channelsOf(unsigned rank) const;
  uint64_t scratchBytes(unsigned rank) const;

  const plan::Plan &plan;
  const plan::KernelInfo &kernel;
  ExecutionOptions options;
  void *library = nullptr;
  bool hasChannels = false; ///< a thread for each, not for each rank
  ElementType type = elementType(Element::F32);
  Reduction reduction = Reduction::Sum;
  uint64_t segmentBytes = 0;
  struct RankMemory {
    Memory input, output, scratch, control, table;
    std::vector<PeerEntry> peers;
  };
  std::vector<RankMemory> memory;
};

} // namespace sccl

#endif // SCCL_TOOLS_SCCL_EXECUTE_EXECUTION_H
