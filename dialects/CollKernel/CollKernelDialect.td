//===- CollKernelDialect.td - The collk dialect ------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COLLKERNEL_DIALECT
#define COLLKERNEL_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def CollKernel_Dialect : Dialect {
  let name = "collk";
  let cppNamespace = "::sccl::collk";
  let summary = "what one thread block, or one host thread, executes";
  let description = [{
    The level below `coll.program`: transfers have become copies and reductions
    between addresses, and flags are words in the control memory of a rank. Who
    executes an op, which launch it is in and where things stand are SSA values.
    So the same ops are executed with constants, by code of one rank, and with
    numbers that are loaded from the rank's table, by code of all ranks.

    The dialect knows no element types, no targets and no instructions. Its ops
    are lowered to the gpu and llvm dialects by `convert-kernel-to-gpu`, and to
    functions for the CPU by `convert-kernel-to-host`.

    | ops | |
    |---|---|
    | `program`, `kernel`, `table`, `channel` | who executes what |
    | `begin`, `end` | which launch this is |
    | `own`, `peer`, `buffer`, `slot` | where chunks are |
    | `copy`, `reduce`, `load_reduce` | what happens to them |
    | `flag`, `flags`, `signal`, `wait`, `join` | in which order |
    | `load`, `block_index`, `part` | what code for all ranks asks |
    | `mark` | what a host tells whoever traces |
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class CollKernel_Op<string mnemonic, list<Trait> traits = []>
    : Op<CollKernel_Dialect, mnemonic, traits>;

/// Accesses memory that other ranks access meanwhile: no other such op overtakes
/// it, and it stays even if nothing uses its result.
class CollKernel_OrderedOp<string mnemonic, list<Trait> traits = []>
    : CollKernel_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>] # traits>;

def CollKernel_Buffer : I32EnumAttr<"BufferKind", "a buffer of a rank", [
    I32EnumAttrCase<"Input", 0, "input">,
    I32EnumAttrCase<"Output", 1, "output">,
    I32EnumAttrCase<"Scratch", 2, "scratch">]> {
  let cppNamespace = "::sccl::collk";
  let genSpecializedAttr = 0;
}
def CollKernel_BufferAttr
    : EnumAttr<CollKernel_Dialect, CollKernel_Buffer, "buffer_kind">;

class CollKernel_Type<string name, string word>
    : TypeDef<CollKernel_Dialect, name> {
  let mnemonic = word;
}

def CollKernel_PartType : CollKernel_Type<"Part", "part"> {
  let summary = "which part of each chunk a block handles";
}
def CollKernel_BufferType : CollKernel_Type<"Buffer", "buffer"> {
  let summary = "where a buffer of a rank begins";
}
def CollKernel_SlotType : CollKernel_Type<"Slot", "slot"> {
  let summary = "where chunks in plain memory begin";
}
def CollKernel_LLSlotType : CollKernel_Type<"LLSlot", "ll_slot"> {
  let summary = "where chunks in LL words begin";
}
def CollKernel_WideSlotType : CollKernel_Type<"WideSlot", "wide_slot"> {
  let summary = "where chunks in f32 begin, where elements are smaller";
  let description = "With `width` times the bytes of an element.";
  let parameters = (ins "unsigned":$width);
  let assemblyFormat = "`<` $width `>`";
}
def CollKernel_SwitchSlotType : CollKernel_Type<"SwitchSlot", "switch_slot"> {
  let summary = "where chunks begin in scratch of all ranks of a group";
  let description = [{
    Behind one switch, at its address of the group: what is written there the
    switch copies to the same place of scratch of each of them, and what is read
    there is the reduction of what is at that place.
  }];
}
def CollKernel_FlagType : CollKernel_Type<"Flag", "flag"> {
  let summary = "a flag and the value that it grows to";
}
def CollKernel_FlagsType : CollKernel_Type<"Flags", "flags"> {
  let summary = "flags that a table lists side by side";
}
def CollKernel_AnySlot
    : AnyTypeOf<[CollKernel_SlotType, CollKernel_LLSlotType,
                 CollKernel_WideSlotType]>;
def CollKernel_Target
    : AnyTypeOf<[CollKernel_SlotType, CollKernel_LLSlotType,
                 CollKernel_WideSlotType, CollKernel_SwitchSlotType]>;
def CollKernel_AnyFlag
    : AnyTypeOf<[CollKernel_FlagType, CollKernel_FlagsType]>;

#endif // COLLKERNEL_DIALECT
