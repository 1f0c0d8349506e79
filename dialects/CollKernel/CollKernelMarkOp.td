//===- CollKernelMarkOp.td - What is traced ----------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COLLKERNEL_MARK_OP
#define COLLKERNEL_MARK_OP

include "CollKernel/CollKernelDialect.td"

def CollKernel_Mark : I32EnumAttr<"MarkKind", "what a channel does", [
    I32EnumAttrCase<"Wait", 0, "wait">,
    I32EnumAttrCase<"Transfer", 1, "transfer">,
    I32EnumAttrCase<"Reduce", 2, "reduce">,
    I32EnumAttrCase<"Copy", 3, "copy">,
    I32EnumAttrCase<"Signal", 4, "signal">,
    I32EnumAttrCase<"End", 5, "end">]> {
  let cppNamespace = "::sccl::collk";
  let genSpecializedAttr = 0;
}
def CollKernel_MarkAttr
    : EnumAttr<CollKernel_Dialect, CollKernel_Mark, "mark_kind">;

def CollKernel_MarkOp : CollKernel_OrderedOp<"mark", [AttrSizedOperandSegments]> {
  let summary = "Tell whoever traces what the thread does next";
  let description = [{
    From here to the next mark, for channel `channel` of the rank in the
    `coll.program`. Of what moves chunks: whose memory it touches beside the
    rank's own, and whether it reads there; which chunks. Of a signal and a wait:
    the flag.

    A host calls whoever traces (`TraceMark.h`). In a thread block the first
    thread writes the time down, at place `place` of line `line` of the rank's
    table (`TraceTable.h`): a line for each channel of each step, and a place for
    each mark.

    **Constraints**
    - (mark_c1) in code for thread blocks, and nowhere else, it has a line and a
      place.
    - (mark_c2) the marks of a channel have one line, and places 0, 1, 2 and so
      on; the last one is an `end`.

    ```mlir
    collk.program @p ranks = 2 chunks = 1 blocks = 1 slots = 3 host {
      collk.kernel @p_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c128 = arith.constant 128 : i32
          %part = collk.part %block of %c1 chunks %c1
          %launch = collk.begin %c0 of %c1 by %part
          %flag = collk.flag %c0[%c128] per_launch %c1 value %c1
          collk.mark wait channel 0 flag %flag in %launch
          collk.wait %flag by %part in %launch : !collk.flag
          collk.mark transfer channel 0 peer 1 chunks 1 at 0 times 1 in %launch
          %input = collk.own input
          %from = collk.slot %input[%c0, %c0] : !collk.slot
          %output = collk.peer %c1 output
          %to = collk.slot %output[%c0, %c0] : !collk.slot
          collk.copy %from to %to chunks %c1 at %c0 by %part in %launch
              : !collk.slot to !collk.slot
          collk.end %launch at %c0 by %part
          collk.mark end channel 0 in %launch
        }
      }
    }
    ```

    The same wait of a thread block:

    ```mlir
    collk.program @q ranks = 2 chunks = 1 blocks = 2 slots = 3 {
      collk.kernel @q_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c2 = arith.constant 2 : i32
          %c128 = arith.constant 128 : i32
          %part = collk.part %block of %c2 chunks %c1
          %launch = collk.begin %c0 of %c1 by %part
          %flag = collk.flag %c0[%c128] per_launch %c1 value %c1
          collk.mark wait channel 0 flag %flag in %launch line 0 place 0 by %part
          collk.wait %flag by %part in %launch : !collk.flag
          collk.end %launch at %c0 by %part
          collk.mark end channel 0 in %launch line 0 place 1 by %part
        }
      }
    }
    ```
  }];
  let arguments = (ins CollKernel_MarkAttr:$kind, I32Attr:$channel,
                       OptionalAttr<I32Attr>:$peer, UnitAttr:$pull,
                       OptionalAttr<I32Attr>:$count,
                       OptionalAttr<I32Attr>:$position,
                       OptionalAttr<I32Attr>:$times,
                       Optional<CollKernel_FlagType>:$flag,
                       Optional<I64>:$launch, OptionalAttr<I32Attr>:$line,
                       OptionalAttr<I32Attr>:$place,
                       Optional<CollKernel_PartType>:$part);
  let assemblyFormat = [{
    $kind `channel` $channel (`peer` $peer^)? (`pull` $pull^)?
    (`chunks` $count^ `at` $position `times` $times)? (`flag` $flag^)?
    (`in` $launch^)? (`line` $line^ `place` $place `by` $part)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // COLLKERNEL_MARK_OP
