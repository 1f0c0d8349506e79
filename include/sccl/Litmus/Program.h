//===- Program.h - Small programs about order ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A litmus test: a few threads on a few GPUs, each with a few loads, stores,
// fences and barriers as PTX has them, and an outcome that a protocol must not
// have, or that shows a bug. Litmus tests have files of their own:
//
//   litmus "push, barrier, release"
//   thread P0 gpu 0 block 0
//     st [data], 1
//     bar.sync 0
//   thread P1 gpu 0 block 0
//     bar.sync 0
//     st.release.sys [flag], 1
//   thread C gpu 1 block 0
//     ld.acquire.sys r0, [flag]
//     require r0 == 1
//     ld r1, [data]
//   exists C:r1 == 0
//   expect never
//
// Memory begins as 0, or as `init data = 3` says. `require` is what a loop that
// polls has seen when it ends: other executions do not count. Several lines
// `exists` are alternatives, of which each may have several terms joined by
// `and`. What is behind "//" is not read.
//
// `multimem.st` and `multimem.ld_reduce` access a location at its address at a
// switch, and fence.proxy.alias orders that and plain accesses. The locations
// that an instruction accesses on several GPUs have an operation each.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LITMUS_PROGRAM_H
#define SCCL_LITMUS_PROGRAM_H

#include "sccl/Model/Result.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sccl::litmus {

enum class Scope { Block, GPU, System };
enum class Order {
  Weak,
  Relaxed,
  Acquire,
  Release,
  AcquireRelease,
  Sequential
};
enum class Kind { Load, Store, Fence, AliasFence, Barrier, Require };
enum class Comparison { Equal, NotEqual, AtLeast, Less };

bool compare(int64_t left, Comparison comparison, int64_t right);

/// A step of a thread.
struct Operation {
  Kind kind = Kind::Fence;
  Order order = Order::Weak;
  Scope scope = Scope::Block;
  bool isMulticast = false; ///< an access through a switch
  unsigned location = 0;    ///< in memory; of a barrier its number
  /// What a load writes, a store with `storesRegister` reads and a requirement
  /// compares.
  unsigned reg = 0;
  bool storesRegister = false;
  int64_t value = 0; ///< what else is stored, or compared with
  Comparison comparison = Comparison::Equal;
};

struct Thread {
  std::string name;
  unsigned gpu = 0, block = 0; ///< blocks are numbered on each GPU
  std::vector<Operation> code;
  std::vector<std::string> registers = {}; ///< their names
};

/// "P1:r0 == 3".
struct Term {
  unsigned thread = 0, reg = 0;
  Comparison comparison = Comparison::Equal;
  int64_t value = 0;
};

enum class Verdict {
  Never,     ///< no execution has the outcome
  Sometimes, ///< one has
  Stuck,     ///< no execution meets all requirements
  Unknown,   ///< there are too many candidates
};

struct Location {
  std::string name;
  int64_t initial = 0;
};

struct Program {
  std::string name;
  std::vector<Location> locations;
  std::vector<Thread> threads;
  std::vector<std::vector<Term>> outcomes; ///< alternatives of joined terms
  std::optional<Verdict> expected = std::nullopt;
  unsigned line = 0; ///< where it begins in its file, from 1; else 0
};

// What a program may have. 64 accesses, fences and barriers, with the initial
// stores, are what the bit sets of the checker hold.
inline constexpr unsigned maxThreads = 16;
inline constexpr unsigned maxEvents = 64;
inline constexpr unsigned maxPrograms = 1000; ///< in a file

/// The kind, order and scope of `opcode`, "ld.acquire.sys.global.b64"; a weak
/// load or store has no order. Nothing if the model says nothing about it.
std::optional<Operation> readOpcode(llvm::StringRef opcode);

/// Reads litmus tests. Errors are "LINE:COLUMN: message".
Result<std::vector<Program>> readLitmus(llvm::StringRef text);

/// The text that readLitmus reads.
std::string printLitmus(const Program &program);

/// "never", "sometimes", "stuck" or "unknown".
llvm::StringRef spellingOf(Verdict verdict);

} // namespace sccl::litmus

#endif // SCCL_LITMUS_PROGRAM_H
