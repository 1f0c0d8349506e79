//===- MemoryDecoder.cpp - Decoding accesses of GCN -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstructionDecoder.h"

#include "llvm/ADT/StringSwitch.h"

using namespace sccl;
using namespace sccl::emulate;
using namespace sccl::emulate::gcn;
using llvm::StringRef;

/// The bytes of "dwordx4".
static unsigned bytesOf(StringRef type) {
  return llvm::StringSwitch<unsigned>(type)
      .Cases({"ubyte", "sbyte", "byte", "byte_d16_hi"}, 1)
      .Cases({"ushort", "short", "short_d16_hi"}, 2)
      .Case("dword", 4)
      .Case("dwordx2", 8)
      .Case("dwordx4", 16)
      .Case("dwordx8", 32)
      .Case("dwordx16", 64)
      .Default(0);
}

bool InstructionDecoder::decodeMemory() {
  if (name.starts_with("s_load_"))
    decodeScalarLoad();
  else if (name.starts_with("global_"))
    decodeGlobal();
  else if (name.starts_with("scratch_") || name.starts_with("buffer_load_") ||
           name.starts_with("buffer_store_"))
    decodePrivate();
  else if (name.starts_with("buffer_"))
    decodeCaches();
  else
    return false;
  return true;
}

/// "s_load_dwordx2 s[0:1], s[2:3], 0x20", or "s[2:3], s4 offset:0x20".
void InstructionDecoder::decodeScalarLoad() {
  op.form = Form::LoadScalar;
  op.bytes = bytesOf(name.drop_front(7));
  if (op.bytes < 4 || operands.size() != 3)
    return fail("unknown opcode");
  addRegister(op.results, operands[0], Place::Scalar, op.bytes / 4);
  addRegister(op.sources, operands[1], Place::Scalar, 2);
  if (!operands[2].getAsInteger(0, op.offset))
    return;
  addRegister(op.sources, operands[2], Place::Scalar, 1);
  takeOffset();
}

/// The scope of an access, or of what is done to caches, on gfx942.
void InstructionDecoder::decodeScope() {
  bool isWide = take("sc1"), isNarrow = take("sc0");
  if (isWide || isNarrow)
    op.order = Order::Relaxed;
  op.scope = isWide && isNarrow ? Scope::System
             : isWide           ? Scope::Device
                                : Scope::Block;
}

/// "global_load_dword v0, v[2:3], off offset:8 sc0 sc1", or with a number of 32
/// bits behind what is in scalar registers: "v0, v2, s[4:5]".
void InstructionDecoder::decodeGlobal() {
  StringRef rest = name.drop_front(7);
  bool isLoad = rest.consume_front("load_");
  if (!isLoad && !rest.consume_front("store_"))
    return fail("unknown opcode");
  op.form = isLoad ? Form::Load : Form::Store;
  op.bytes = bytesOf(rest);
  op.isSigned = rest == "sbyte";
  // What is loaded says how it is extended.
  bool isExtended = rest.starts_with("u") || rest.starts_with("sb");
  if (op.bytes == 0 || op.bytes > 16 || operands.size() != 3 ||
      (op.bytes < 4 && isExtended != isLoad))
    return fail("unknown opcode");
  unsigned words = op.bytes < 4 ? 1 : op.bytes / 4;
  bool isOff = operands[2] == "off";
  addRegister(op.sources, operands[isLoad ? 1 : 0], Place::Vector,
              isOff ? 2 : 1);
  addRegister(isLoad ? op.results : op.sources, operands[isLoad ? 0 : 1],
              Place::Vector, words);
  if (!isOff)
    addRegister(op.sources, operands[2], Place::Scalar, 2);
  if (rest.ends_with("_d16_hi") && op.sources.size() > 1)
    op.sources[1].part = {16, 16};
  takeOffset();
  if (hasScopeBits) {
    decodeScope();
  } else if (isLoad && take("glc")) {
    op.order = Order::Relaxed; // what scope it has is up to invalidations
  } else if (!isLoad && (op.bytes == 4 || op.bytes == 8)) {
    op.order = Order::Whole;
  }
}

/// Memory of each lane: "scratch_load_dword v40, off, s33" with an address in
/// bytes, or "buffer_load_dword v40, off, s[0:3], s33" with one for 64 lanes.
void InstructionDecoder::decodePrivate() {
  bool isBuffer = name.consume_front("buffer_");
  if (!isBuffer)
    name.consume_front("scratch_");
  bool isLoad = name == "load_dword";
  if ((!isLoad && name != "store_dword") || isBuffer == hasScopeBits ||
      operands.size() != (isBuffer ? 4 : 3))
    return fail("unknown opcode");
  op.form = isLoad ? Form::LoadPrivate : Form::StorePrivate;
  op.bytes = 4;
  // gfx942 has the data of a store behind the address.
  bool isDataFirst = isBuffer || isLoad;
  if (operands[isDataFirst ? 1 : 0] != "off")
    return fail("unexpected operand");
  addRegister(op.sources, operands.back(), Place::Scalar, 1);
  addRegister(isLoad ? op.results : op.sources, operands[isDataFirst ? 0 : 1],
              Place::Vector, 1);
  if (isBuffer)
    addRegister(op.sources, operands[2], Place::Scalar, 4);
  takeOffset();
}

void InstructionDecoder::decodeCaches() {
  bool isWriteBack = name == "buffer_wbl2";
  if (!isWriteBack && name != (hasScopeBits ? "buffer_inv" : "buffer_invl2") &&
      (hasScopeBits || name != "buffer_wbinvl1_vol"))
    return fail("unknown opcode");
  op.form = isWriteBack              ? Form::WriteBack
            : name == "buffer_invl2" ? Form::InvalidateL2
                                     : Form::Invalidate;
  if (hasScopeBits)
    decodeScope();
}
