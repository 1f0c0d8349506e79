//===- GCNInstructions.cpp - What instructions of GCN are -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GCNInstructions.h"

using namespace sccl;
using namespace sccl::assembly;
using namespace sccl::assembly::gcn;
using llvm::StringRef;

static bool hasWord(const Instruction &op, StringRef word) {
  for (StringRef rest = op.operands; !rest.empty();) {
    StringRef one;
    std::tie(one, rest) = rest.ltrim().split(' ');
    if (one == word)
      return true;
  }
  return false;
}

bool gcn::isAccess(const Instruction &op, StringRef kind) {
  for (StringRef space : {"global_", "flat_", "buffer_"})
    if (StringRef rest = op.opcode; rest.consume_front(space))
      return rest.starts_with(kind);
  return false;
}
bool gcn::isLoad(const Instruction &op) { return isAccess(op, "load_"); }
bool gcn::isStore(const Instruction &op) { return isAccess(op, "store_"); }
bool gcn::isBarrier(const Instruction &op) { return op.opcode == "s_barrier"; }
bool gcn::isReturn(const Instruction &op) { return op.isReturn; }
bool gcn::isWaitForMemory(const Instruction &op) {
  return op.opcode == "s_waitcnt" && op.operands.contains("vmcnt(0)");
}

bool gcn::isOtherAccess(const Instruction &op) {
  bool isScalar = op.opcode.starts_with("s_store") ||
                  op.opcode.starts_with("s_buffer_store") ||
                  op.opcode.starts_with("s_atomic");
  return isScalar || op.opcode.contains("_lds") ||
         op.opcode.starts_with("image_") || op.opcode.starts_with("tbuffer_");
}

StringRef gcn::symbolOf(const Instruction &op) {
  auto [before, after] = op.operands.split("@rel32@lo");
  return after.empty() ? "" : before.rsplit(',').second.trim();
}

bool gcn::callsFunction(const Instruction &op, StringRef name) {
  return symbolOf(op) == name;
}

bool gcn::isCall(const Instruction &op) {
  return op.opcode == "s_swappc_b64" ||
         (op.opcode == "s_setpc_b64" && op.operands != "s[30:31]");
}

bool Coherence::hasSystemScope(const Instruction &op) const {
  return memoryModel != MemoryModel::ScopeBits ||
         (hasWord(op, "sc0") && hasWord(op, "sc1"));
}

bool Coherence::isWriteBack(const Instruction &op) const {
  return op.opcode == "buffer_wbl2" && hasSystemScope(op);
}

llvm::SmallVector<StringRef, 2> Coherence::invalidations() const {
  if (memoryModel == MemoryModel::ScopeBits)
    return {"buffer_inv"};
  if (memoryModel == MemoryModel::L2)
    return {"buffer_invl2", "buffer_wbinvl1_vol"};
  return {"buffer_wbinvl1_vol"};
}

bool Coherence::isCoherentLoad(const Instruction &op) const {
  return isLoad(op) &&
         (memoryModel == MemoryModel::ScopeBits ? hasSystemScope(op)
                                                : hasWord(op, "glc"));
}
