//===- AuditRules.h - What rules for PTX and GCN share ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule says that no path leads from some instructions to another without a
// third between them.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_TARGET_AUDITRULES_H
#define SCCL_LIB_TARGET_AUDITRULES_H

#include "Assembly.h"

#include "sccl/Target/Audit.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

namespace sccl::assembly {

/// The operands of a helper for packets by its name, see PacketHelpers.h: a
/// letter for the destination and one for each source, p for packets and m for
/// plain memory. Empty for other functions.
inline llvm::StringRef packetOperands(llvm::StringRef name) {
  for (llvm::StringRef prefix :
       {"coll_copy_", "coll_combine_", "coll_average_"})
    if (llvm::StringRef rest = name;
        rest.consume_front(prefix) && rest.size() > 1 &&
        rest.find_first_not_of("pm") == llvm::StringRef::npos)
      return rest;
  return "";
}

/// True if `operands` name `reg`, which no other name may contain.
inline bool namesRegister(llvm::StringRef operands, llvm::StringRef reg) {
  for (size_t at = 0; (at = operands.find(reg, at)) != llvm::StringRef::npos;
       ++at) {
    llvm::StringRef before = operands.take_front(at);
    llvm::StringRef after = operands.drop_front(at + reg.size());
    bool isWhole = (before.empty() || !llvm::isAlnum(before.back())) &&
                   (after.empty() || !llvm::isAlnum(after.front()));
    if (isWhole)
      return true;
  }
  return false;
}

/// The audit of one function.
class FunctionAudit {
public:
  FunctionAudit(const Function &function, std::vector<AuditFinding> &findings)
      : function(function), findings(findings) {}

protected:
  void report(const Instruction &where, const llvm::Twine &message,
              const char *check = "P1") {
    findings.push_back(
        {check, function.name, where.line, where.text.str(), message.str()});
  }
  void reportFunction(const llvm::Twine &message) {
    findings.push_back({"P1", function.name, function.line, function.text.str(),
                        message.str()});
  }

  /// A `goal` that the function can reach without a `stop` before it.
  const Instruction *fromEntry(Condition stop, Condition goal) const {
    return findPath(function, {0}, stop, goal);
  }
  /// The same behind `from`.
  const Instruction *after(const Instruction &from, Condition stop,
                           Condition goal) const {
    return findPath(function, from.next, stop, goal);
  }
  /// Reports the first `goal` that is reached so.
  void requireFromEntry(Condition stop, Condition goal,
                        const llvm::Twine &message) {
    if (const Instruction *found = fromEntry(stop, goal))
      report(*found, message);
  }

  /// Reports a way through the function that has a `reader` but no `acquirer`.
  void requireAcquire(Condition acquirer, Condition reader, Condition leaves) {
    for (const Instruction &op : function.code) {
      auto isThis = [&](const Instruction &other) { return &other == &op; };
      if (!reader(op) || acquirer(op) || !fromEntry(acquirer, isThis) ||
          !after(op, acquirer, leaves))
        continue;
      report(op, "a thread may stop waiting by a load without acquire");
    }
  }

  /// Reports what is stored before `compares(load)`, the comparison of the
  /// launch number that came with it.
  template <typename Compares>
  void requireComparison(Condition isPacketLoad, Condition isStore,
                         Compares compares) {
    for (const Instruction &load : function.code) {
      auto comparesIt = [&](const Instruction &op) {
        return compares(load, op);
      };
      if (isPacketLoad(load) && after(load, comparesIt, isStore))
        report(load, "a packet is used before its launch number is compared");
    }
  }

  const Function &function;
  std::vector<AuditFinding> &findings;
};

} // namespace sccl::assembly

#endif // SCCL_LIB_TARGET_AUDITRULES_H
