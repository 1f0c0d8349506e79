//===- CollInterfaces.td - What passes ask of coll ops -----*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes and conversions ask these questions, and need not know the ops one by
// one.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_INTERFACES
#define COLL_INTERFACES

include "mlir/IR/OpBase.td"

def Coll_SendOpInterface : OpInterface<"SendOpInterface"> {
  let cppNamespace = "::sccl::coll";
  let description = [{
    Moves chunks over a link in a step of a schedule.
  }];
  let methods = [
    InterfaceMethod<"The rank that has the chunks.", "uint32_t", "getSrc">,
    InterfaceMethod<"The rank that gets them.", "uint32_t", "getDst">,
    InterfaceMethod<"The chunks, as triples of first, count and stride.",
                    "::llvm::ArrayRef<int32_t>", "getRanges">,
    InterfaceMethod<"True if the sender's own input goes out.", "bool",
                    "getFromInput">,
    InterfaceMethod<"Of what the sender has kept, what goes out; by numbers.",
                    "::std::optional<::llvm::ArrayRef<int32_t>>", "getKept">,
    InterfaceMethod<"Under which number the destination keeps what arrives.",
                    "::std::optional<uint32_t>", "getKeep">,
    InterfaceMethod<"Who moves the chunks, if that is said.",
                    "::std::optional<::sccl::coll::Transport>",
                    "getTransport">,
    InterfaceMethod<"Says who moves the chunks.", "void", "setTransport",
                    (ins "::std::optional<::sccl::coll::Transport>":$by)>,
    InterfaceMethod<"What becomes of the chunks at the destination.",
                    "::sccl::SendAction", "getAction">,
  ];
  let extraSharedClassDeclaration = [{
    /// The chunks, ascending, as far as the verifier accepts them.
    ::llvm::SmallVector<::sccl::ChunkRange, 4> getChunkRanges() {
      return ::sccl::coll::toChunkRanges($_op.getRanges());
    }
    /// Their number.
    uint64_t numChunks() {
      uint64_t total = 0;
      for (const ::sccl::ChunkRange &range : getChunkRanges())
        total += range.count;
      return total;
    }
    /// Calls `visit` with each of them.
    template <typename Visit> void forEachChunk(Visit visit) {
      for (const ::sccl::ChunkRange &range : getChunkRanges())
        for (uint32_t i = 0; i < range.count; ++i)
          visit(range[i]);
    }
  }];
}

def Coll_TransferOpInterface : OpInterface<"TransferOpInterface"> {
  let cppNamespace = "::sccl::coll";
  let description = [{
    Moves or reduces chunks, on the way from slots of buffers to others.
    `getTransfer` gives all of it at once.
  }];
  let methods = [
    InterfaceMethod<"The first chunk.", "uint32_t", "getChunk">,
    InterfaceMethod<"The number of chunks side by side.", "uint32_t",
                    "getCount">,
    InterfaceMethod<"How often that is repeated.", "uint32_t", "getTimes">,
    InterfaceMethod<"From one repetition to the next, in chunks.", "uint32_t",
                    "getChunkStride">,
    InterfaceMethod<"The step of the schedule that asked for it.", "uint32_t",
                    "getStep">,
    InterfaceMethod<"The slots it reads: two ranges and more if it "
                    "reduces.",
                    "::llvm::SmallVector<::sccl::coll::SlotRange, 2>",
                    "getReads">,
    InterfaceMethod<"The slots it writes.", "::sccl::coll::SlotRange",
                    "getWrite">,
    InterfaceMethod<"Takes chunks, repetitions and slots from `other`, which "
                    "uses the same buffers.",
                    "void", "setPlaces",
                    (ins "const ::sccl::coll::Transfer &":$other)>,
    InterfaceMethod<"True if it accesses buffers of the channel's peer.",
                    "bool", "isRemote">,
    InterfaceMethod<"True if a reduction makes its chunks complete.", "bool",
                    "completes", (ins), "", [{ return false; }]>,
    InterfaceMethod<"True if a copy engine does it.", "bool",
                    "usesCopyEngine", (ins), "", [{ return false; }]>,
  ];
}

def Coll_FlagOpInterface : OpInterface<"FlagOpInterface"> {
  let cppNamespace = "::sccl::coll";
  let description = [{
    Sets a flag, or waits until it has grown to a value.
  }];
  let methods = [
    InterfaceMethod<"What the flag announces.", "::sccl::coll::Flag",
                    "getFlag">,
    InterfaceMethod<"The rank at the other end.", "uint32_t", "getPeer">,
    InterfaceMethod<"The value of the flag in the first launch.", "uint32_t",
                    "getValue">,
    InterfaceMethod<"Changes the value.", "void", "setValue",
                    (ins "uint32_t":$value)>,
    InterfaceMethod<"The flag.", "::sccl::coll::FlagId", "getFlagId">,
  ];
}

#endif // COLL_INTERFACES
