//===- LoweringOptions.td - The options of lowering --------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where an option of lowering is declared: its word, type,
// default and description. From here
//   - passes take it, by its name in `options`;
//   - the pipelines sccl-lower, sccl-to-nvvm, ... take all of them;
//   - `sccl compile` and `sccl run` take those of their groups;
//   - C++ gets `struct LoweringOptions` (LoweringOptions.h).
// Pipelines.cpp hands the values to the passes.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIONS_LOWERINGOPTIONS
#define SCCL_OPTIONS_LOWERINGOPTIONS

include "llvm/TableGen/SearchableTable.td"
include "mlir/Pass/PassBase.td"

/// `group` says which subcommands of the tool take the option. `isRepeatable`
/// lets the tool take several values, where they make variants of a plan.
class LoweringOption<string varName, string word, string valueType,
                     string default, string optionGroup, string help>
    : Option<varName, word, valueType, default, help> {
  string member = "&LoweringOptions::" # varName;
  string group = "OptionGroup::" # optionGroup;
  bit isRepeatable = false;
}

// Of programs: who moves what through what memory, and how it is synchronized.

def Lowering_pieces
    : LoweringOption<"pieces", "pieces", "unsigned", "1", "Program",
                     "Pieces of each chunk that follow each other through the "
                     "steps, for large messages"> {
  let isRepeatable = true;
}
def Lowering_pieceDistance
    : LoweringOption<"pieceDistance", "piece-distance", "unsigned", "6",
                     "Program",
                     "Steps from one step of a piece to its next: 6 hides the "
                     "latencies of small pieces, 1 is best for large ones">;
def Lowering_pieceRounds
    : LoweringOption<"pieceRounds", "piece-rounds", "bool", "false", "Program",
                     "Spread what a piece sends over rounds of its own, at the "
                     "distance in rounds: for few, large pieces">;
def Lowering_transport
    : LoweringOption<"transport", "transport", "::sccl::TransportChoice",
                     "::sccl::TransportChoice::Given", "Program",
                     "Who moves chunks: push, pull, dma (with steps), auto, or "
                     "given: as the schedule says, else push">;
def Lowering_links
    : LoweringOption<"links", "link-transport", "::sccl::LinkTransports",
                     "", "Program",
                     "Transports of single links, as 0-1:pull,1-0:push"> {
  let isRepeatable = true;
}
def Lowering_bytes
    : LoweringOption<"bytes", "bytes", "uint64_t", "1 << 20", "Estimate",
                     "Bytes of the send buffer that transport=auto is for">;
def Lowering_alpha
    : LoweringOption<"alpha", "alpha", "double", "0.7", "Estimate",
                     "Microseconds of a step that pushes, for transport=auto">;
def Lowering_beta
    : LoweringOption<"beta", "beta", "double", "4e-5", "Estimate",
                     "Microseconds per byte of a push over a link of bandwidth "
                     "1, for transport=auto">;
def Lowering_explain
    : LoweringOption<"explain", "explain", "bool", "false", "Program",
                     "Say for each link who moves chunks, and why, and how many "
                     "ops were joined and removed">;
def Lowering_steps
    : LoweringOption<"steps", "steps", "bool", "false", "Program",
                     "A kernel per step, in place of one for all; copy engines "
                     "need that">;
def Lowering_throughScratch
    : LoweringOption<"throughScratch", "through-scratch", "bool", "false",
                     "Program",
                     "Let ranks touch nothing of their peers but scratch "
                     "memory">;
def Lowering_doubleBuffer
    : LoweringOption<"doubleBuffer", "double-buffer", "bool", "false",
                     "Program",
                     "Use two halves of scratch in turn, which spares "
                     "handshakes; unless all goes through scratch, for what is "
                     "sent in the first step">;
def Lowering_ll
    : LoweringOption<"ll", "ll", "bool", "false", "Program",
                     "Send words of data and launch number in place of flags: "
                     "for small messages. Implies through-scratch and "
                     "double-buffer">;
def Lowering_inNetwork
    : LoweringOption<"inNetwork", "in-network", "bool", "false", "Program",
                     "Let switches copy what goes to all their ranks, and reduce "
                     "what comes from them, by way of scratch">;
def Lowering_sumOrder
    : LoweringOption<"sumOrder", "order", "::sccl::SumOrder",
                     "::sccl::SumOrder::Same", "Program",
                     "Order of summation: same, in which all ranks get the same "
                     "bits, any, or one tree for all elements and sizes: tree, "
                     "rank, left, ring:R, ((0+1)+2), or a file with one">;
def Lowering_oneRounding
    : LoweringOption<"oneRounding", "one-rounding", "bool", "false", "Program",
                     "Of floats of less than 32 bits, round each sum to the type "
                     "once: no partial sum is sent or kept in the type">;
def Lowering_wire
    : LoweringOption<"wire", "wire", "::sccl::Wire", "::sccl::Wire::Element",
                     "Program",
                     "Type in which partial sums of floats of less than 32 bits "
                     "are kept and sent: element, or f32, which rounds each sum "
                     "to the type once, at its end">;
def Lowering_blocksPerLink
    : LoweringOption<"blocksPerLink", "blocks-per-link", "unsigned", "0",
                     "GPU", "Thread blocks for each link, up to 64; 0 means as "
                     "many as fill it by the clock of the topology, or 1"> {
  let isRepeatable = true;
}

def Lowering_smBudget
    : LoweringOption<"smBudget", "sm-budget", "unsigned", "0", "GPU",
                     "Multiprocessors of a GPU that a collective may take, a "
                     "thread block each; 0 means no limit">;

// Of code.

def Lowering_element
    : LoweringOption<"element", "element", "::sccl::Element",
                     "::sccl::Element::F32", "Data",
                     "Element type of reductions: f16, bf16, f32, f64, i8, u8, "
                     "i32, u32, i64, u64, f8e4m3 or f8e5m2"> {
  let isRepeatable = true;
}
def Lowering_reduction
    : LoweringOption<"reduction", "reduction", "::sccl::Reduction",
                     "::sccl::Reduction::Sum", "Data",
                     "Reduction: sum, prod, min, max or avg"> {
  let isRepeatable = true;
}
def Lowering_codeShape
    : LoweringOption<"codeShape", "code-shape", "::sccl::CodeShapeChoice",
                     "::sccl::CodeShapeChoice::Auto", "Shape",
                     "A kernel for each rank, with calls one after the other "
                     "(unrolled), tables that one kernel for all ranks reads "
                     "(table), or tables for more than 8 ranks and for long "
                     "programs (auto)"> {
  let isRepeatable = true;
}
def Lowering_blockSize
    : LoweringOption<"blockSize", "block-size", "unsigned", "256", "GPU",
                     "Threads of a block, a multiple of 64 up to 1024">;
def Lowering_virtualRanks
    : LoweringOption<"virtualRanks", "virtual-ranks", "bool", "false", "GPU",
                     "Add a kernel that runs all ranks, for ranks that share a "
                     "GPU">;
def Lowering_residency
    : LoweringOption<"residency", "residency", "bool", "true", "GPU",
                     "Check that all blocks of a rank run at once">;
def Lowering_residentBlocks
    : LoweringOption<"residentBlocks", "resident-blocks", "unsigned", "0",
                     "GPU",
                     "Blocks that the GPU holds at once; 0 means what a product "
                     "with its chip, which errors name, holds in any case">;
def Lowering_audit
    : LoweringOption<"audit", "audit", "bool", "true", "Code",
                     "Check the flags in the assembly">;
def Lowering_cacheBytes
    : LoweringOption<"cacheBytes", "cache-bytes", "uint64_t", "32 << 20",
                     "Machine",
                     "Bytes of the cache that all ranks on a CPU share: launches "
                     "whose buffers take more bypass it">;

def Lowering_traced
    : LoweringOption<"traced", "traced", "bool", "false", "CPU",
                     "Have code tell what it does when, for `sccl bench "
                     "--trace`; costs a CPU some 50 ns for each op">;

defvar Lowering_all = [
  Lowering_pieces, Lowering_pieceDistance, Lowering_pieceRounds,
  Lowering_transport, Lowering_links, Lowering_bytes, Lowering_alpha,
  Lowering_beta, Lowering_explain, Lowering_steps, Lowering_throughScratch,
  Lowering_doubleBuffer, Lowering_ll, Lowering_inNetwork, Lowering_sumOrder,
  Lowering_oneRounding, Lowering_wire,
  Lowering_blocksPerLink, Lowering_smBudget, Lowering_element, Lowering_reduction,
  Lowering_codeShape, Lowering_blockSize, Lowering_virtualRanks,
  Lowering_residency, Lowering_residentBlocks, Lowering_audit,
  Lowering_cacheBytes, Lowering_traced];

/// What pipelines and the tool iterate over.
def LoweringOptionRows : GenericTable {
  let FilterClass = "LoweringOption";
  let CppTypeName = "LoweringOptionRow";
  let Fields = ["member", "argument", "description", "group", "isRepeatable"];
  string TypeOf_member = "code";
  string TypeOf_group = "code";
}

#endif // SCCL_OPTIONS_LOWERINGOPTIONS
