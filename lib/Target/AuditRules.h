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

#include "llvm/ADT/Twine.h"

namespace sccl::assembly {

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

  const Function &function;
  std::vector<AuditFinding> &findings;
};

} // namespace sccl::assembly

#endif // SCCL_LIB_TARGET_AUDITRULES_H
