//===- CollKernelOps.td - Ops of the collk dialect ---------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COLLKERNEL_OPS
#define COLLKERNEL_OPS

include "CollKernel/CollKernelFlagOps.td"
include "CollKernel/CollKernelMarkOp.td"
include "CollKernel/CollKernelSwitchOps.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

//===----------------------------------------------------------------------===//
// Who executes what
//===----------------------------------------------------------------------===//

def CollKernel_ProgramOp : CollKernel_Op<"program", [
    Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock,
    NoRegionArguments]> {
  let summary = "Hold the kernels of one program, or its tables and one kernel";
  let description = [{
    What the ranks of one `coll.program` execute. Either each rank has kernels
    of its own, one for each step if there are steps; or each has tables, and one
    kernel executes whatever stands in the table of its rank.

    A segment of a buffer has `chunks` chunks; `blocks` thread blocks serve each
    channel. The buffers of all ranks together hold `slots` chunks. With `host`
    one thread of a CPU executes a kernel, else the threads of thread blocks.

    **Constraints**
    - (program_c1) the body holds only `collk.kernel` and `collk.table`;
    - (program_c2) kernels and tables are for ranks that exist;
    - (program_c3) on a host, channels have one block.

    Rank 0 sends its only chunk to rank 1:

    ```mlir
    collk.program @bc ranks = 2 chunks = 1 blocks = 1 slots = 3 {
      collk.kernel @bc_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c128 = arith.constant 128 : i32
          %part = collk.part %block of %c1 chunks %c1
          %launch = collk.begin %c0 of %c1 by %part
          %ready = collk.flag %c0[%c128] per_launch %c1 value %c1
          collk.wait %ready by %part in %launch : !collk.flag
          %input = collk.own input
          %from = collk.slot %input[%c0, %c0] : !collk.slot
          %output = collk.peer %c1 output
          %to = collk.slot %output[%c0, %c0] : !collk.slot
          collk.copy %from to %to chunks %c1 at %c0 by %part in %launch
              : !collk.slot to !collk.slot
          %arrival = collk.flag %c1[%c128] per_launch %c1 value %c1
          collk.signal %arrival by %part in %launch : !collk.flag
          collk.end %launch at %c0 by %part
        }
      }
      collk.kernel @bc_rank1 rank = 1 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c128 = arith.constant 128 : i32
          %part = collk.part %block of %c1 chunks %c1
          %launch = collk.begin %c0 of %c1 by %part
          %ready = collk.flag %c0[%c128] per_launch %c1 value %c1
          collk.signal %ready by %part in %launch : !collk.flag
          %arrival = collk.flag %c1[%c128] per_launch %c1 value %c1
          collk.wait %arrival by %part in %launch : !collk.flag
          collk.end %launch at %c0 by %part
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       ConfinedAttr<I32Attr, [IntPositive]>:$ranks,
                       ConfinedAttr<I32Attr, [IntPositive]>:$chunks,
                       ConfinedAttr<I32Attr, [IntPositive]>:$blocks,
                       ConfinedAttr<I64Attr, [IntPositive]>:$slots,
                       UnitAttr:$host);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name `ranks` `=` $ranks `chunks` `=` $chunks `blocks` `=` $blocks
    `slots` `=` $slots (`host` $host^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def CollKernel_KernelOp : CollKernel_Op<"kernel", [
    Symbol, HasParent<"ProgramOp">, IsolatedFromAbove, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "Hold the code of one rank, or of all ranks";
  let description = [{
    With `rank` the body holds a `collk.channel` for each channel of the rank;
    with `step`, what they execute in that step. Without `rank` it is code for
    any rank: each of its blocks asks for its number, and loads from the table of
    its rank what to do.

    **Constraints**
    - (kernel_c1) the body of a kernel of one rank holds only `collk.channel`,
      numbered from 0.

    The example of `collk.program` shows two.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<I32Attr>:$rank,
                       OptionalAttr<I32Attr>:$step);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name (`rank` `=` $rank^)? (`step` `=` $step^)?
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def CollKernel_TableOp : CollKernel_Op<"table", [
    HasParent<"ProgramOp">, IsolatedFromAbove, NoTerminator, SingleBlock,
    NoRegionArguments]> {
  let summary = "Hold the code of one rank as data";
  let description = [{
    The same as a kernel of one rank, but no code is made from it: the rows of
    the rank's table (`RankTable.h`), which the kernel of all ranks executes.

    **Constraints**
    - (table_c1) the body holds only `collk.channel`, numbered from 0;
    - (table_c2) the operands of its ops are constants.

    ```mlir
    collk.program @alone ranks = 1 chunks = 1 blocks = 1 slots = 2 {
      collk.table rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %part = collk.part %block of %c1 chunks %c1
          %launch = collk.begin %c0 of %c1 by %part
          %input = collk.own input
          %from = collk.slot %input[%c0, %c0] : !collk.slot
          %output = collk.own output
          %to = collk.slot %output[%c0, %c0] : !collk.slot
          collk.copy %from to %to chunks %c1 at %c0 by %part in %launch
              : !collk.slot to !collk.slot
          collk.end %launch at %c0 by %part
        }
      }
    }
    ```
  }];
  let arguments = (ins I32Attr:$rank, OptionalAttr<I32Attr>:$step);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    `rank` `=` $rank (`step` `=` $step^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def CollKernel_ChannelOp : CollKernel_Op<"channel", [
    ParentOneOf<["KernelOp", "TableOp"]>, IsolatedFromAbove, NoTerminator,
    SingleBlock]> {
  let summary = "Execute ops one after the other, in the blocks of a channel";
  let description = [{
    The argument of the body is the number of the block within the channel, which
    has `spread` times as many as the program says.

    **Constraints**
    - (channel_c1) the body has one argument, of type i32;
    - (channel_c2) `spread` is a power of two, at most 64, and 1 on a host.

    The example of `collk.program` shows two.
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$number,
                       DefaultValuedAttr<ConfinedAttr<I32Attr,
                       [IntPositivePowerOf2, IntMaxValue<64>]>, "1">:$spread);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $number (`spread` `=` $spread^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Which block, which launch
//===----------------------------------------------------------------------===//

def CollKernel_BlockIndexOp : CollKernel_Op<"block_index", [Pure]> {
  let summary = "The number of this block among those of the rank";
  let description = [{
    The blocks of channel 0 come first, then those of channel 1, and so on. The
    example of `collk.load` shows one.
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def CollKernel_BlocksOp : CollKernel_Op<"blocks", [Pure]> {
  let summary = "The blocks that this launch has for each channel";
  let description = [{
    At most as many as the program says. The example of `collk.load` shows one.
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def CollKernel_PartOp : CollKernel_Op<"part", [Pure]> {
  let summary = "Which part of each chunk a block handles";
  let description = [{
    The b-th of `parts` parts for each of the `collk.blocks` of the launch, of
    segments of `chunks` chunks; where channels of the program are spread further
    than this one, as many as `doublings` doublings make. The example of
    `collk.program` shows two.
  }];
  let arguments = (ins I32:$block, I32:$parts, I32:$chunks,
                       Optional<I32>:$doublings);
  let results = (outs CollKernel_PartType:$result);
  let assemblyFormat = [{
    $block `of` $parts (`doubled` $doublings^)? `chunks` $chunks attr-dict
  }];
}

def CollKernel_ShareOp : CollKernel_Op<"share", [Pure]> {
  let summary = "Which blocks of a part's transfer LL words by themselves";
  let description = [{
    The part of `share`, the word of a BlockShare (`BlockShare.h`): where those
    of a channel's blocks can have all of a transfer of LL words under way at
    once, the others leave it to them. What is larger is for all blocks. Other
    transfers take no notice of it.

    ```mlir
    collk.program @shared ranks = 1 chunks = 1 blocks = 1 slots = 1 {
      collk.kernel @shared_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c1 = arith.constant 1 : i32
          %half = arith.constant 32768 : i32
          %part = collk.part %block of %c1 chunks %c1
          %share = collk.share %half of %part
        }
      }
    }
    ```
  }];
  let arguments = (ins I32:$share, CollKernel_PartType:$part);
  let results = (outs CollKernel_PartType:$result);
  let assemblyFormat = "$share `of` $part attr-dict";
}

def CollKernel_BeginOp : CollKernel_OrderedOp<"begin"> {
  let summary = "Begin a launch; return its number";
  let description = [{
    One more than the word at byte `epoch` of the rank's control memory, plus a
    word for each block before this one. Launches are numbered from 1. It also
    becomes the word of blocks that this launch does not have, of the `words` that
    the channel has: later ones may have more blocks. The example of
    `collk.program` shows two.
  }];
  let arguments = (ins I32:$epoch, I32:$words, CollKernel_PartType:$part);
  let results = (outs I64:$launch);
  let assemblyFormat = "$epoch `of` $words `by` $part attr-dict";
}

def CollKernel_EndOp : CollKernel_OrderedOp<"end"> {
  let summary = "End a launch";
  let description = [{
    When all threads of the block are here, the launch's number becomes the
    word that `collk.begin` reads. The example of `collk.program` shows two.
  }];
  let arguments = (ins I64:$launch, I32:$epoch, CollKernel_PartType:$part);
  let assemblyFormat = "$launch `at` $epoch `by` $part attr-dict";
}

//===----------------------------------------------------------------------===//
// Where chunks are
//===----------------------------------------------------------------------===//

def CollKernel_OwnOp : CollKernel_Op<"own", [Pure]> {
  let summary = "A buffer of this rank";
  let description = "As the caller passed it; `collk.program` shows one.";
  let arguments = (ins CollKernel_BufferAttr:$kind);
  let results = (outs CollKernel_BufferType:$result);
  let assemblyFormat = "$kind attr-dict";
}

def CollKernel_PeerOp : CollKernel_Op<"peer", [NoMemoryEffect]> {
  let summary = "A buffer of another rank";
  let description = [{
    Where the rank's table of peers says. The number of ranks stands for the group
    of ranks that the rank shares a switch with, whose scratch is there. The
    example of `collk.program` shows one.

    **Constraints**
    - (peer_c1) `rank` is one of the program, or their number, for scratch.
  }];
  let arguments = (ins I32:$rank, CollKernel_BufferAttr:$kind);
  let results = (outs CollKernel_BufferType:$result);
  let assemblyFormat = "$rank $kind attr-dict";
  let hasVerifier = 1;
}

def CollKernel_BufferOp : CollKernel_Op<"buffer", [NoMemoryEffect]> {
  let summary = "A buffer, by its number in a table";
  let description = [{
    `where` is that of a `TableSlot` (`RankTable.h`): one of this rank's buffers,
    or one of a peer's. The example of `collk.load` shows one.
  }];
  let arguments = (ins I32:$where);
  let results = (outs CollKernel_BufferType:$result);
  let assemblyFormat = "$where attr-dict";
}

def CollKernel_SlotOp : CollKernel_Op<"slot", [Pure, AttrSizedOperandSegments]> {
  let summary = "Where chunks begin in a buffer";
  let description = [{
    At chunk `chunk` of segment `segment`; scratch is one long segment. With
    `odd` it is so many chunks further in launches of odd number, where scratch
    is double-buffered. A transfer that is repeated goes on from there by `step`:
    so many segments and chunks each time.

    **Constraints**
    - (slot_c1) LL words, and wide slots, stand in scratch.
    - (slot_c2) a slot of the group at its switch, and no other, is a switch slot.

    ```mlir
    collk.program @p ranks = 2 chunks = 2 blocks = 1 slots = 12 {
      collk.kernel @p_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c2 = arith.constant 2 : i32
          %c3 = arith.constant 3 : i32
          %part = collk.part %block of %c1 chunks %c2
          %launch = collk.begin %c0 of %c1 by %part
          %input = collk.own input
          // Chunk 1 of segments 0, 2 and 4, to slots 0, 1 and 2.
          %from = collk.slot %input[%c0, %c1] step %c2, %c0 : !collk.slot
          %scratch = collk.peer %c1 scratch
          %to = collk.slot %scratch[%c0, %c0] odd %c3 in %launch step %c0, %c1
              : !collk.ll_slot
          collk.copy %from to %to chunks %c1 at %c1 times %c3 by %part in %launch
              : !collk.slot to !collk.ll_slot
          collk.end %launch at %c0 by %part
        }
      }
    }
    ```
  }];
  let arguments = (ins CollKernel_BufferType:$buffer, I32:$segment, I32:$chunk,
                       Optional<I32>:$odd, Optional<I64>:$launch,
                       Optional<I32>:$segment_step, Optional<I32>:$chunk_step);
  let results = (outs CollKernel_Target:$result);
  let assemblyFormat = [{
    $buffer `[` $segment `,` $chunk `]` (`odd` $odd^ `in` $launch)?
    (`step` $segment_step^ `,` $chunk_step)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What happens to them
//===----------------------------------------------------------------------===//

defvar CollKernel_transferText = [{
    A run of `count` chunks, of which the first is at `position` of its segment,
    as far as the segment reaches; with `times`, so many runs. Who reads LL words
    waits for each of them until it is of this launch.

    **Constraints**
    - (transfer_c1) LL words need the number of the launch.

}];

def CollKernel_CopyOp : CollKernel_OrderedOp<"copy", [AttrSizedOperandSegments]> {
  let summary = "Copy chunks";
  let description = !strconcat([{
    To a switch slot, the switch copies them to all ranks of the group, in whole
    units of 16 bytes: the padding of a segment's last chunk may be moved with it.
  }], CollKernel_transferText, [{
    - (copy_c1) what is copied to a switch slot is in scratch of the rank itself.

    The examples of `collk.program` and `collk.slot` show one each.
  }]);
  let arguments = (ins CollKernel_AnySlot:$src, CollKernel_Target:$dst,
                       I32:$count, I32:$position, Optional<I32>:$times,
                       CollKernel_PartType:$part, Optional<I64>:$launch);
  let assemblyFormat = [{
    $src `to` $dst `chunks` $count `at` $position (`times` $times^)?
    `by` $part (`in` $launch^)? attr-dict `:` type($src) `to` type($dst)
  }];
  let hasVerifier = 1;
}

def CollKernel_ReduceOp : CollKernel_OrderedOp<"reduce", [AttrSizedOperandSegments]> {
  let summary = "Reduce chunks of two places into a third";
  let description = !strconcat([{
    Averages weigh the two places as the word `average` says (`AverageWord.h`);
    other reductions take no notice of it. With `terms` the second place is the
    first of so many in scratch, whose slot has the `step` from one to the next;
    a sum of all of them is rounded once.
  }], CollKernel_transferText, [{
    - (reduce_c1) a reduction of several terms is not repeated.

    ```mlir
    collk.program @sum ranks = 1 chunks = 1 blocks = 1 slots = 3 {
      collk.kernel @sum_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          // Two inputs, halved; of two.
          %halves = arith.constant 4325378 : i32
          %part = collk.part %block of %c1 chunks %c1
          %input = collk.own input
          %own = collk.slot %input[%c0, %c0] : !collk.slot
          %scratch = collk.own scratch
          %other = collk.slot %scratch[%c0, %c0] : !collk.slot
          %output = collk.own output
          %sum = collk.slot %output[%c0, %c0] : !collk.slot
          collk.reduce %own, %other to %sum chunks %c1 at %c0 average %halves
              by %part : !collk.slot, !collk.slot to !collk.slot
        }
      }
    }
    ```
  }]);
  let arguments = (ins CollKernel_AnySlot:$lhs, CollKernel_AnySlot:$rhs,
                       CollKernel_AnySlot:$dst, I32:$count, I32:$position,
                       Optional<I32>:$times, Optional<I32>:$terms,
                       Optional<I32>:$average, CollKernel_PartType:$part,
                       Optional<I64>:$launch);
  let assemblyFormat = [{
    $lhs `,` $rhs `to` $dst `chunks` $count `at` $position (`times` $times^)?
    (`terms` $terms^)? (`average` $average^)? `by` $part (`in` $launch^)? attr-dict
    `:` type($lhs) `,` type($rhs) `to` type($dst)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

def CollKernel_LoadOp : CollKernel_Op<"load", [NoMemoryEffect]> {
  let summary = "Load a unit of the rank's table";
  let description = [{
    The four words of unit `unit` (`RankTable.h`), by one access of 16 bytes.
    Tables are not written while kernels run.

    Code for any rank, which sets flags:

    ```mlir
    collk.program @p ranks = 2 chunks = 1 blocks = 1 slots = 1 {
      collk.kernel @sccl_table {
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %c2 = arith.constant 2 : i32
        %header:4 = collk.load %c0
        %index = collk.block_index
        %blocks = collk.blocks
        %channel = arith.divui %index, %blocks : i32
        %block = arith.remui %index, %blocks : i32
        %part = collk.part %block of %c1 chunks %header#0
        %unit = arith.addi %channel, %c2 : i32
        %entry:4 = collk.load %unit
        %launch = collk.begin %entry#2 of %header#1 by %part
        %row:4 = collk.load %entry#0
        %flags = collk.flags %row#1 count %row#2
        collk.signal %flags by %part in %launch : !collk.flags
        collk.end %launch at %entry#2 by %part
      }
    }
    ```
  }];
  let arguments = (ins I32:$unit);
  let results = (outs I32:$word0, I32:$word1, I32:$word2, I32:$word3);
  let assemblyFormat = "$unit attr-dict";
}

#endif // COLLKERNEL_OPS
