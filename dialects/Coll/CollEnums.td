//===- CollEnums.td - Enumerations of the coll dialect -----*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COLL_ENUMS
#define COLL_ENUMS

include "Coll/CollDialect.td"
include "mlir/IR/EnumAttr.td"

def Coll_Buffer : I32EnumAttr<"Buffer", "a buffer of a rank", [
    I32EnumAttrCase<"Input", 0, "input">,
    I32EnumAttrCase<"Output", 1, "output">,
    I32EnumAttrCase<"Scratch", 2, "scratch">]> {
  let cppNamespace = "::sccl::coll";
  let genSpecializedAttr = 0;
}
def Coll_BufferAttr : EnumAttr<Coll_Dialect, Coll_Buffer, "buffer">;

def Coll_Flag : I32EnumAttr<"Flag", "what a flag announces", [
    I32EnumAttrCase<"Ready", 0, "ready">,
    I32EnumAttrCase<"Arrival", 1, "arrival">]> {
  let cppNamespace = "::sccl::coll";
  let genSpecializedAttr = 0;
}
def Coll_FlagAttr : EnumAttr<Coll_Dialect, Coll_Flag, "flag">;

def Coll_Transport : I32EnumAttr<"Transport", "who moves a chunk", [
    I32EnumAttrCase<"Push", 0, "push">,
    I32EnumAttrCase<"Pull", 1, "pull">,
    I32EnumAttrCase<"DMA", 2, "dma">,
    I32EnumAttrCase<"Multicast", 3, "multicast">,
    I32EnumAttrCase<"LoadReduce", 4, "load_reduce">]> {
  let cppNamespace = "::sccl::coll";
  let genSpecializedAttr = 0;
}
def Coll_TransportAttr : EnumAttr<Coll_Dialect, Coll_Transport, "transport">;

def Coll_Protocol : I32EnumAttr<"Protocol", "where chunks go, and what announces them", [
    I32EnumAttrCase<"Direct", 0, "direct">,
    I32EnumAttrCase<"Scratch", 1, "scratch">,
    I32EnumAttrCase<"DoubleBuffer", 2, "double_buffer">,
    I32EnumAttrCase<"LL", 3, "ll">,
    I32EnumAttrCase<"Eager", 4, "eager">,
    I32EnumAttrCase<"InNetwork", 5, "in_network">]> {
  let cppNamespace = "::sccl::coll";
  let genSpecializedAttr = 0;
}

def Coll_PieceOrder : I32EnumAttr<"PieceOrder", "what pieces of chunks follow each other in", [
    I32EnumAttrCase<"Steps", 0, "steps">,
    I32EnumAttrCase<"Rounds", 1, "rounds">]> {
  let cppNamespace = "::sccl::coll";
  let genSpecializedAttr = 0;
}

#endif // COLL_ENUMS
