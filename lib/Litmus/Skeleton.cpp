//===- Skeleton.cpp - What helpers in PTX do to flags ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Skeleton.h"

#include "Assembly/Audit/AuditRules.h"
#include "Assembly/Audit/PTXInstructions.h"
#include "Assembly/Audit/PTXRules.h"
#include "Assembly/DataFlow.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace sccl;
using namespace sccl::assembly;
using namespace sccl::litmus;
using llvm::StringRef;
using llvm::Twine;

static Error errorAt(unsigned line, const Twine &message) {
  return Error{(Twine(line) + ":1: " + message).str()};
}

static Error notModelled(const Function &function, const Instruction &op) {
  return errorAt(op.line, "the memory model says nothing about '" + op.text +
                              "' in @" + function.name);
}

/// The number in the last part of "ld.acquire.sys.global.b64".
static unsigned bitsOf(StringRef opcode) {
  unsigned bits = 0;
  StringRef digits = opcode.rsplit('.').second.drop_front();
  return digits.getAsInteger(10, bits) ? 0 : bits;
}

namespace {
/// The paths through one helper.
class PathFinder {
public:
  /// Of the parameters, `flags` is where flags are; `accesses` says whether
  /// they are loaded or stored, and all else is read-only or the block's own.
  PathFinder(const Function &function, unsigned flags, Kind accesses)
      : function(function), accesses(accesses),
        flags(function.name + "_param_" + std::to_string(flags)),
        steps(function.code.size()), isOnPath(function.code.size()) {}

  Result<HelperPaths> run() {
    size_t size = function.code.size(), limit = maxHelperSize(function.name);
    if (size > limit)
      return errorAt(function.line, "@" + function.name + " has " +
                                        Twine(size) + " instructions, but " +
                                        Twine(limit) + " is the limit");
    for (auto [index, op] : llvm::enumerate(function.code))
      if (std::optional<Error> error = classify(op, steps[index]))
        return *error;
    if (size)
      walk(0);
    if (left == 0)
      return errorAt(function.line,
                     "@" + function.name + " has too many paths");
    HelperPaths result;
    for (const FlagPath &path : paths) {
      bool hasFlag = llvm::any_of(
          path, [&](const FlagStep &step) { return step.kind == accesses; });
      (hasFlag ? result.withFlag : result.withoutFlag).push_back(path);
    }
    return result;
  }

private:
  /// What `op` does to flags, if anything.
  std::optional<Error> classify(const Instruction &op,
                                std::optional<FlagStep> &step) const {
    StringRef verb = ptx::verb(op);
    bool isLoad = ptx::isAccess(op, "ld"), isStore = ptx::isAccess(op, "st");
    bool isBarrier = verb == "bar" || verb == "barrier";
    if (ptx::isOtherAccess(op) && !op.opcode.contains("param"))
      return notModelled(function, op);
    if (isLoad || isStore) {
      llvm::SmallVector<StringRef> operands = operandsOf(op);
      bool isFlag = (isLoad ? Kind::Load : Kind::Store) == accesses &&
                    operands.size() == 2 &&
                    flow.sourcesOf(operands[isLoad]).contains(flags);
      if (!isFlag)
        return std::nullopt;
    } else if (!isBarrier && verb != "fence" && verb != "membar") {
      return std::nullopt;
    }
    std::optional<Operation> known = readOpcode(op.opcode);
    unsigned number = 0;
    bool isPlain = known && !(op.predicated && (isLoad || isStore)) &&
                   !(isBarrier && op.operands.trim().getAsInteger(10, number));
    if (!isPlain)
      return notModelled(function, op);
    step = FlagStep{known->kind, known->order, known->scope, number,
                    isLoad || isStore ? bitsOf(op.opcode) : 0};
    return std::nullopt;
  }

  void walk(unsigned index) {
    if (isOnPath[index] || left == 0)
      return;
    --left;
    const Instruction &op = function.code[index];
    isOnPath[index] = true;
    if (!steps[index] || op.predicated)
      follow(op);
    if (steps[index]) {
      path.push_back(*steps[index]);
      follow(op);
      path.pop_back();
    }
    isOnPath[index] = false;
  }

  void follow(const Instruction &op) {
    if (op.isReturn)
      paths.insert(path);
    for (unsigned next : op.next)
      walk(next);
  }

  /// Instructions on all paths together; today's helpers have about 100.
  static constexpr unsigned maxSteps = 100'000;
  const Function &function;
  const DataFlow flow{function};
  Kind accesses;
  std::string flags;
  std::vector<std::optional<FlagStep>> steps; ///< of each instruction
  std::vector<bool> isOnPath;
  FlagPath path;
  std::set<FlagPath> paths;
  unsigned left = maxSteps;
};

/// Collects the accesses of all payload helpers.
class AccessFinder {
public:
  std::optional<Error> add(const Function &function) {
    bool hasWords = !llOperands(function.name).empty();
    DataFlow flow(function);
    for (const Instruction &op : function.code) {
      bool isLoad = ptx::isAccess(op, "ld"), isStore = ptx::isAccess(op, "st");
      if (ptx::isOtherAccess(op) && !op.opcode.contains("param"))
        return notModelled(function, op);
      if (!isLoad && !isStore)
        continue;
      std::optional<Operation> known = readOpcode(op.opcode);
      if (!known)
        return notModelled(function, op);
      bool isOrdered = hasWords && known->order != Order::Weak;
      bool isWord = isOrdered || reachesWords(function, flow, op);
      if (isOrdered && !ptx::is64Bit(op))
        return errorAt(op.line, "an LL word has 64 bits, unlike in '" +
                                    op.text + "' in @" + function.name);
      (isWord   ? isLoad ? wordLoads : wordStores
       : isLoad ? loads
                : stores)
          .insert({known->order, known->scope});
    }
    return std::nullopt;
  }

  Accesses payload() const { return {listOf(loads), listOf(stores)}; }
  Accesses words() const { return {listOf(wordLoads), listOf(wordStores)}; }

private:
  using Kinds = std::set<AccessKind>;
  static std::vector<AccessKind> listOf(const Kinds &kinds) {
    return {kinds.begin(), kinds.end()};
  }
  Kinds loads, stores, wordLoads, wordStores;
};
} // namespace

static bool isPayloadHelper(StringRef name) {
  name = helperName(name);
  return !llOperands(name).empty() || name == helper::copy ||
         name == helper::reduceElements || name == helper::average;
}

/// Accesses that do not overlap completely are not morally strong.
static std::optional<Error> checkWidths(const Skeleton &skeleton) {
  std::set<unsigned> widths;
  for (const HelperPaths &paths : {skeleton.signal, skeleton.wait})
    for (const FlagPath &path : paths.withFlag)
      for (const FlagStep &step : path)
        if (step.bits)
          widths.insert(step.bits);
  if (widths.size() <= 1)
    return std::nullopt;
  return errorAt(skeleton.line, "flags are stored and loaded with " +
                                    Twine(*widths.begin()) + " bits and with " +
                                    Twine(*widths.rbegin()));
}

Result<Skeleton> litmus::skeletonOf(const Text &text) {
  struct Part {
    const char *name;
    unsigned flags; ///< the parameter
    Kind accesses;
    HelperPaths Skeleton::*paths;
  };
  // @coll_signal stores flags of peers, the third parameter; @coll_wait loads
  // this rank's, likewise.
  static constexpr Part parts[] = {
      {helper::signal, 2, Kind::Store, &Skeleton::signal},
      {helper::wait, 2, Kind::Load, &Skeleton::wait},
      {helper::end, 9, Kind::Require, &Skeleton::end}};
  Skeleton skeleton;
  AccessFinder accesses;
  for (const Function &function : text.functions) {
    for (const Part &part : parts) {
      if (function.name != part.name)
        continue;
      Result<HelperPaths> paths =
          PathFinder(function, part.flags, part.accesses).run();
      if (!paths)
        return Error{paths.error()};
      skeleton.*part.paths = *paths;
    }
    bool isSignal = function.name == helper::signal;
    skeleton.hasFlags |= isSignal;
    if (isSignal || (!skeleton.line && !llOperands(function.name).empty()))
      skeleton.line = function.line;
    if (isPayloadHelper(function.name))
      if (std::optional<Error> error = accesses.add(function))
        return *error;
  }
  if (std::optional<Error> error = checkWidths(skeleton))
    return *error;
  skeleton.payload = accesses.payload();
  skeleton.words = accesses.words();
  return skeleton;
}
