//===- PTXInstructions.cpp - What instructions of PTX are -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXInstructions.h"

#include "Assembly/DataFlow.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl::assembly;
using namespace sccl::assembly::ptx;
using llvm::StringRef;

bool ptx::has(StringRef opcode, StringRef part) {
  for (StringRef rest = opcode; !rest.empty();) {
    StringRef one;
    std::tie(one, rest) = rest.split('.');
    if (one == part)
      return true;
  }
  return false;
}

StringRef ptx::verb(const Instruction &op) {
  return op.opcode.split('.').first;
}

bool ptx::isAccess(const Instruction &op, StringRef kind) {
  return verb(op) == kind && !has(op.opcode, "param") &&
         !has(op.opcode, "local") && !has(op.opcode, "const") &&
         !op.opcode.contains(".shared");
}

bool ptx::isOrdered(const Instruction &op) {
  return llvm::any_of(llvm::ArrayRef<StringRef>{"relaxed", "acquire", "release",
                                                "volatile", "mmio"},
                      [&](StringRef order) { return has(op.opcode, order); });
}

bool ptx::isPlainLoad(const Instruction &op) {
  return isAccess(op, "ld") && !isOrdered(op);
}
bool ptx::isPlainStore(const Instruction &op) {
  return isAccess(op, "st") && !isOrdered(op);
}
bool ptx::isStore(const Instruction &op) { return isAccess(op, "st"); }

static bool hasOrder(const Instruction &op, StringRef kind, StringRef order) {
  return isAccess(op, kind) && has(op.opcode, order) && has(op.opcode, "sys");
}
bool ptx::isAcquire(const Instruction &op) {
  return hasOrder(op, "ld", "acquire");
}
bool ptx::isRelaxedLoad(const Instruction &op) {
  return hasOrder(op, "ld", "relaxed");
}
static bool isRelease(const Instruction &op) {
  return hasOrder(op, "st", "release");
}
bool ptx::isRelaxedStore(const Instruction &op) {
  return hasOrder(op, "st", "relaxed");
}
bool ptx::isPublish(const Instruction &op) {
  return isRelease(op) || isRelaxedStore(op);
}

bool ptx::isFence(const Instruction &op) {
  return !op.predicated &&
         (op.opcode == "fence.acq_rel.sys" || op.opcode == "fence.sc.sys" ||
          op.opcode == "membar.sys");
}

/// A barrier with an operand for the number of threads may be for some of them.
bool ptx::isBarrier(const Instruction &op) {
  bool isSync = op.opcode.starts_with("bar.sync") ||
                op.opcode.starts_with("bar.cta.sync") ||
                op.opcode.starts_with("barrier.sync") ||
                op.opcode.starts_with("barrier.cta.sync");
  return isSync && !op.predicated && op.operands.trim() == "0";
}

bool ptx::isReturn(const Instruction &op) { return op.isReturn; }

StringRef ptx::calleeOf(const Instruction &op) {
  if (verb(op) != "call")
    return "";
  for (StringRef operand : operandsOf(op))
    if (!operand.starts_with("("))
      return operand;
  return "";
}

bool ptx::callsFunction(const Instruction &op, StringRef name) {
  return calleeOf(op) == name;
}

bool ptx::isCondition(const Instruction &op) {
  return verb(op) == "bra" && op.predicated && op.next.size() == 2;
}

bool ptx::isOtherAccess(const Instruction &op) {
  StringRef name = verb(op);
  bool isPlain = name == "ld" || name == "st";
  return op.operands.contains('[') &&
         (!isPlain || has(op.opcode, "async") || has(op.opcode, "bulk"));
}

bool ptx::is64Bit(const Instruction &op) {
  return has(op.opcode, "b64") || has(op.opcode, "u64") ||
         has(op.opcode, "s64");
}

bool ptx::is16Bytes(const Instruction &op) {
  bool isWide = (has(op.opcode, "v4") && op.opcode.ends_with("32")) ||
                (has(op.opcode, "v2") && op.opcode.ends_with("64"));
  return isWide && (isAccess(op, "ld") || isAccess(op, "st"));
}
