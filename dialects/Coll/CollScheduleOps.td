//===- CollScheduleOps.td - Schedule level -----------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which chunk goes over which link in which step.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_SCHEDULE_OPS
#define COLL_SCHEDULE_OPS

include "Coll/CollTopologyOps.td"
include "Coll/CollWay.td"

def Coll_WayArrayAttr : TypedArrayAttrBase<Coll_WayAttr, "ways to lower">;

def Coll_ScheduleOp : Coll_Op<"schedule", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Implement a collective by steps of sends";
  let description = [{
    The algorithm (Q, T) of the SCCL paper, section 3.3. All sends of a step
    read the state before the step. The number of a chunk is global; with C =
    `chunks` and P ranks:

    | collective | number of chunk i of ... |
    |---|---|
    | all_gather, gather | source s: `s * C + i` |
    | broadcast, reduce, all_reduce | the buffer: `i` |
    | scatter, reduce_scatter | destination d: `d * C/P + i` |
    | all_to_all | source s for destination d: `s * C + d * C/P + i` |

    `certificate`, if present, is the text of a lower bound on R/C for as many
    steps (or for any number), with its proof; `sccl pareto` and the synthesize
    pass put it there, `coll-check-schedule` verifies it.

    With `period` the schedule is pipelined: chunks are cut into pieces that
    follow each other through the steps, one piece every `period` rounds. All
    steps are then under way at once, each for another piece, and a limit of
    bandwidth b lets b * `period` chunks through in all steps together. The
    rounds of a step are those it takes alone.

    `ways`, if present, are the programs that the schedule is to become, and the
    sizes each is the best for: see `#coll.way`. `sccl compile` lowers these and
    no others unless asked.

    Whether the schedule is right (postcondition, bandwidth) is a question about
    the whole op, answered by the pass `coll-check-schedule`, not the verifier.

    ```
    ranks x chunks     before    after step 0
    rank 0             0 .       0 1
    rank 1             . 1       0 1
    ```

    **Constraints**
    - (schedule_c1) the topology and the collective exist;
    - (schedule_c2) the collective exists for these ranks, chunks and root;
    - (schedule_c3) the body holds only `coll.step`;
    - (schedule_c4) all sends together move at most 67108864 chunks;
    - (schedule_c5) `period` is between 1 and 1048576;
    - (schedule_c6) no two `ways` differ in `best_at` only.

    ```mlir
    coll.topology @pair ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 0 bandwidth = 1
    }
    coll.schedule @ag of all_gather on @pair chunks = 1 {
      coll.step rounds = 1 {
        coll.send 0 over 0 -> 1
        coll.send 1 over 1 -> 0
      }
    }
    coll.topology @line ranks = 3 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 2 bandwidth = 1
    }
    coll.schedule @bc of broadcast on @line chunks = 1 root = 0 period = 1
      attributes {ways = [
        #coll.way<protocol = ll, best_at = [1024, 1200, 1100]>,
        #coll.way<pieces = 8, distance = 2>]} {
      coll.step rounds = 1 {
        coll.send 0 over 0 -> 1
      }
      coll.step rounds = 1 {
        coll.send 0 over 1 -> 2
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Coll_CollectiveRef:$collective,
                       FlatSymbolRefAttr:$topology, I32Attr:$chunks,
                       OptionalAttr<I32Attr>:$root,
                       OptionalAttr<I32Attr>:$period,
                       OptionalAttr<StrAttr>:$certificate,
                       OptionalAttr<Coll_WayArrayAttr>:$ways);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name `of` custom<CollectiveRef>($collective) `on` $topology
    `chunks` `=` $chunks (`root` `=` $root^)? (`period` `=` $period^)?
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Coll_StepOp : Coll_Op<"step", [
    HasParent<"ScheduleOp">, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Send chunks in one synchronous phase";
  let description = [{
    The sends of one step; none sees the result of another. The step takes
    `rounds` rounds: a limit with bandwidth b lets b * `rounds` chunks through.

    **Constraints**
    - (step_c1) `rounds` is at least 1;
    - (step_c2) the body holds only `coll.send`, `coll.reduce` and `coll.keep`.

    The example of `coll.schedule` shows one.
  }];
  let arguments = (ins I32Attr:$rounds);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = "`rounds` `=` $rounds attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

/// `ranges` holds first, count and stride of each range.
class Coll_ChunkMovingOp<string mnemonic, string action>
    : Coll_Op<mnemonic, [HasParent<"StepOp">,
                         Coll_SendOpInterface]> {
  let arguments = (ins UnitAttr:$from_input,
                       OptionalAttr<DenseI32ArrayAttr>:$kept,
                       DenseI32ArrayAttr:$ranges, I32Attr:$src, I32Attr:$dst,
                       OptionalAttr<Coll_TransportAttr>:$transport,
                       OptionalAttr<I32Attr>:$keep);
  let assemblyFormat = [{
    (`input` $from_input^)? (`kept` $kept^)? custom<ChunkRanges>($ranges)
    `over` $src `->` $dst (`by` `` $transport^)? (`as` $keep^)? attr-dict
  }];
  let extraClassDeclaration = !strconcat([{
    ::sccl::SendAction getAction() { return ::sccl::SendAction::}], action, [{; }
  }]);
  let hasVerifier = 1;
}

defvar Coll_rangesText = [{
    Chunks that cross a link together may be written as one op: `4 to 9` are
    the chunks from 4 to 9, `0 to 30 by 10` are 0, 10, 20 and 30, and ranges are
    joined by commas. It means the same as an op for each chunk.
}];

defvar Coll_keptText = [{
    In combining collectives `as` N lets the destination keep what arrives under
    that number as well, apart from its value, until it keeps something else
    there; and `kept [1, 3]` sends the sum of what the sender has kept under
    these numbers before the step, with `input` together with its input.
}];

defvar Coll_transportText = [{
    `by` says who moves the chunk, and changes nothing about what arrives:
    `push` (the sender's threads write, the default), `pull` (the receiver's
    threads read) or `dma` (a copy engine). `coll-choose-transport` sets it.
    Where a `coll.switch` joins both ranks, `multicast` (the sender writes once,
    and the switch copies for all ranks that get the same from it in the step)
    and, for what is reduced or kept, `load_reduce` (the receiver reads once,
    and the switch reduces what it gets in the step) say what counts once.
}];

def Coll_SendOp : Coll_ChunkMovingOp<"send", "Copy"> {
  let summary = "Send chunks over a link";
  let description = !strconcat([{
    Copies chunks from rank `src` to rank `dst`. With `input` it is the
    sender's own input that goes out, not its current value; the two differ only
    in combining collectives.
  }], Coll_rangesText, Coll_keptText, Coll_transportText, [{
    **Constraints**
    - (send_c1) the chunks are the collective's;
    - (send_c2) the topology has the link;
    - (send_c3) ranges hold something, and ascend without overlapping;
    - (send_c4) numbers of what is kept are between 1 and 32, and ascend.

    ```mlir
    coll.topology @one_way ranks = 2 {
      coll.link 0 -> 1 bandwidth = 2
    }
    coll.schedule @sc of scatter on @one_way chunks = 12 root = 0 {
      coll.step rounds = 3 {
        coll.send 6 to 10 by 2, 11 over 0 -> 1
        coll.send 7, 9 over 0 -> 1 by pull
      }
    }
    ```
  }]);
}

def Coll_ReduceOp : Coll_ChunkMovingOp<"reduce", "Reduce"> {
  let summary = "Send chunks over a link and reduce them there";
  let description = !strconcat([{
    Like `coll.send`, but the destination reduces what arrives with its own
    value of the chunk.
  }], Coll_keptText, Coll_transportText, [{
    **Constraints**
    - (reduce_c1) the chunks are the collective's;
    - (reduce_c2) the topology has the link;
    - (reduce_c3) ranges hold something, and ascend without overlapping;
    - (reduce_c4) numbers of what is kept are between 1 and 32, and ascend.

    ```mlir
    coll.topology @pair ranks = 2 {
      coll.link 1 -> 0 bandwidth = 1
    }
    coll.schedule @sum of reduce on @pair chunks = 1 root = 0 {
      coll.step rounds = 1 {
        coll.reduce 0 over 1 -> 0
      }
    }
    ```
  }]);
}

def Coll_KeepOp : Coll_ChunkMovingOp<"keep", "Keep"> {
  let summary = "Send chunks over a link and keep them apart there";
  let description = !strconcat([{
    Like `coll.reduce`, but the value of the destination stays as it is: what
    arrives is only kept.
  }], Coll_keptText, [{
    **Constraints**
    - (keep_c1) the chunks are the collective's;
    - (keep_c2) the topology has the link;
    - (keep_c3) ranges hold something, and ascend without overlapping;
    - (keep_c4) numbers of what is kept are between 1 and 32, and ascend; what
      arrives has one.

    Two ranks add up what they have over a third one, which needs no value:

    ```mlir
    coll.topology @line ranks = 3 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 0 bandwidth = 1
      coll.link 1 -> 2 bandwidth = 1
      coll.link 2 -> 1 bandwidth = 1
    }
    coll.grouped @ends of all_reduce ranks = 3 chunks = 1 groups = [[0, 2]]
    coll.schedule @sum of @ends on @line chunks = 1 {
      coll.step rounds = 1 {
        coll.keep input 0 over 0 -> 1 as 1
        coll.keep input 0 over 2 -> 1 as 2
      }
      coll.step rounds = 1 {
        coll.reduce kept [2] 0 over 1 -> 0
        coll.reduce kept [1] 0 over 1 -> 2
      }
    }
    ```
  }]);
}

#endif // COLL_SCHEDULE_OPS
