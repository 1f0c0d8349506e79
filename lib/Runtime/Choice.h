//===- Choice.h - What to execute for which size ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_CHOICE_H
#define SCCL_LIB_RUNTIME_CHOICE_H

#include "Programs.h"

#include <optional>
#include <vector>

namespace sccl {

/// What to execute.
struct Choice {
  const LoadedProgram *program = nullptr;
  /// Of the same schedule, but leaves the caller's buffers alone; or null.
  const LoadedProgram *aloof = nullptr;
  /// Of the same schedule, with copies by hosts; or null.
  const LoadedProgram *copying = nullptr;
  plan::Path path = plan::Path::Auto;
  uint64_t pieceBytes = 0; ///< 0: the default
  const char *reason = "";
};

/// What is expected of a plan for a call, to compare it with others.
struct Expectation {
  bool isMeasured = false;   ///< by a table of this device and kind of ranks
  bool needsNoCopies = true; ///< right in the buffers of the call
  double nanoseconds = 0;    ///< infinite if the plan does not say

  /// True if a plan of this goes before one of `other`, whichever was loaded
  /// first.
  bool goesBefore(const Expectation &other) const {
    if (isMeasured != other.isMeasured)
      return isMeasured;
    if (needsNoCopies != other.needsNoCopies)
      return needsNoCopies;
    return nanoseconds < other.nanoseconds;
  }
};

/// The choices by size of one plan on one device.
class Choices {
public:
  /// Takes the table of `manifest` that was measured for this target and kind
  /// of ranks, or else the model's. Keeps references to both arguments.
  void resolve(const plan::Manifest &manifest,
               const std::vector<LoadedProgram> &programs,
               const std::string &target, bool isOneProcess);
  const Choice &forBytes(uint64_t bytes) const;
  /// The same where no switch copies or reduces: for types and reductions that
  /// none reduces.
  const Choice &withoutSwitches(uint64_t bytes) const;
  /// Calls `visit` with each choice for some size.
  template <typename Visit> void forEach(Visit visit) const {
    for (const SizedChoice &sized : choices)
      visit(sized.choice);
  }
  /// What launches of so many bytes of a send buffer should take.
  Expectation expect(uint64_t bytes) const;
  /// Fixes the choice; null takes that back.
  Status set(const scclChoice *choice, const std::string &target);

private:
  struct SizedChoice {
    uint64_t firstByte;
    Choice choice;
  };
  Choice make(const LoadedProgram &program, plan::Path path,
              uint64_t pieceBytes, const char *reason) const;
  std::vector<SizedChoice> choicesOf(const plan::SizeTable &table,
                                     const char *reason) const;
  bool take(const plan::SizeTable &table, const char *reason);
  static const Choice &at(const std::vector<SizedChoice> &sized,
                          uint64_t bytes);

  static constexpr const char *measured = "measured here";
  const plan::Manifest *manifest = nullptr;
  const std::vector<LoadedProgram> *programs = nullptr;
  std::vector<SizedChoice> choices;
  std::vector<SizedChoice> otherChoices;  ///< that go through no switch
  const plan::SizeTable *table = nullptr; ///< where they are from; or null
  std::optional<Choice> forced;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_CHOICE_H
