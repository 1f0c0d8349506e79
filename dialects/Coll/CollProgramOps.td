//===- CollProgramOps.td - Program level -------------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the thread blocks of each rank execute. The same program is lowered to
// GPU kernels and to the host.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_PROGRAM_OPS
#define COLL_PROGRAM_OPS

include "Coll/CollScheduleOps.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Accesses memory that other ranks access meanwhile: no other such op overtakes
/// it, and none is merged with another.
def Coll_Ordered : MemoryEffects<[MemRead, MemWrite]>;

def Coll_ProgramOp : Coll_Op<"program", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Hold the code of all ranks of one collective";
  let description = [{
    One `coll.rank` per rank, in order. A rank owns an input, an output and a
    scratch buffer. A buffer is a row of *slots* of one chunk each: the input
    holds the chunks of the rank's precondition in ascending order, the output
    those of its postcondition, the scratch whatever the rank relays for others.

    At run time `blocks` thread blocks, times its `spread`, execute each channel.
    Each takes its part of each chunk; only blocks that share a part depend on
    each other.

    With `double_buffered` each rank has its scratch twice, and a launch uses one or
    the other in turn.

    With `ll` scratch holds LL words: words of 64 bits, 4 bytes of a chunk in
    the low half and the low half of the launch's number in the high one. Who
    reads a slot of scratch waits for each word until that number is there, so
    arrivals are not signalled. A slot of LL words takes twice the bytes.

    With `sum_width = W` elements are floats of less than 32 bits, and the first
    slots of a rank's scratch, as many as its `wide` says, hold f32, of W times
    the bytes. Partial sums are kept and sent there: what writes such a slot
    extends elements, and what reads it adds them as they are, so that a sum is
    rounded once, where it is complete.

    **Constraints**
    - (program_c1) the topology and the collective exist, and fit each other;
    - (program_c2) the body holds one `coll.rank` for each rank, in order;
    - (program_c3) slots exist in the buffers they name;
    - (program_c4) the arrivals that a channel signals to one rank carry the
      values 1, 2, ..., and it signals ready to a rank once;
    - (program_c5) a channel leads to the rank itself or to another rank, once;
    - (program_c6) all channels have the same number of `coll.barrier`;
    - (program_c7) a chunk stands in input and output at its own place in a
      segment, so that its bytes are those of the slot for any count (check B1);
    - (program_c8) where there are barriers, everything else is between them;
    - (program_c9) scratch is double-buffered only in programs without barriers;
    - (program_c10) LL words stand only in scratch that is double-buffered;
    - (program_c11) with LL words peers are reached only by puts into their
      scratch, nothing reads an output, and only ready is signalled;
    - (program_c12) there are no signals and no waits where there are barriers;
    - (program_c13) a transfer has strides if and only if it is repeated; the
      repetitions do not overlap, and have their chunks at the same place in a
      segment;
    - (program_c14) all ranks together have at most 67108864 slots of scratch,
      as many as schedules may have sends;
    - (program_c15) a reduction of several terms has them in scratch, apart from
      each other;
    - (program_c16) with `sum_width` there are no LL words and no copy engines;
      without it no slot is wide. The chunks of one transfer, and the terms of a
      reduction, are all in wide slots or all in others.

    ```mlir
    coll.topology @one_way ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
    }
    coll.program @bc of broadcast on @one_way chunks = 1 root = 0 blocks = 1 {
      coll.rank 0 scratch = 0 {
        coll.channel to 0 {
          coll.copy chunk 0 from input[0] to output[0] step = 0
        }
        coll.channel to 1 {
          coll.wait ready from 1 value = 1
          coll.put chunk 0 from input[0] to output[0] step = 0
          coll.signal arrival to 1 value = 1
        }
      }
      coll.rank 1 scratch = 0 {
        coll.channel to 1 {
          coll.signal ready to 0 value = 1
          coll.wait arrival from 0 value = 1
        }
      }
    }
    ```

    One op moves chunks that lie at equal distances:

    ```mlir
    coll.topology @pair ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 0 bandwidth = 1
    }
    coll.program @a2a of all_to_all on @pair chunks = 2 blocks = 1 {
      coll.rank 0 scratch = 2 {
        coll.channel to 1 {
          coll.put chunk 0 times = 2 by 1 from input[0 by 1] to scratch[0 by 1] step = 0
        }
      }
      coll.rank 1 scratch = 2 {
        coll.channel to 1 {
        }
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Coll_CollectiveRef:$collective,
                       FlatSymbolRefAttr:$topology, I32Attr:$chunks,
                       OptionalAttr<I32Attr>:$root,
                       ConfinedAttr<I32Attr, [IntMinValue<1>, IntMaxValue<64>]>:$blocks,
                       UnitAttr:$double_buffered, UnitAttr:$ll,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [
                           IntPositivePowerOf2, IntMaxValue<4>]>, "1">:$sum_width);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $sym_name `of` custom<CollectiveRef>($collective) `on` $topology
    `chunks` `=` $chunks (`root` `=` $root^)? `blocks` `=` $blocks
    (`double_buffered` $double_buffered^)? (`ll` $ll^)?
    (`sum_width` `=` $sum_width^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Coll_RankOp : Coll_Op<"rank", [
    HasParent<"ProgramOp">, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Hold the channels of one rank";
  let description = [{
    The code of rank `rank`, which needs `scratch` slots of scratch memory, of
    which the first `wide` hold f32: see `coll.program`. Its channels run
    concurrently; the rank is done when all of them are.

    **Constraints**
    - (rank_c1) the body holds only `coll.channel`;
    - (rank_c2) there are as many slots as are `wide`.

    The example of `coll.program` shows two.
  }];
  let arguments = (ins I32Attr:$rank,
                       ConfinedAttr<I32Attr, [IntNonNegative]>:$scratch,
                       DefaultValuedAttr<ConfinedAttr<I32Attr,
                       [IntNonNegative]>, "0">:$wide);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $rank `scratch` `=` $scratch (`wide` `=` $wide^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Coll_ChannelOp : Coll_Op<"channel", [
    HasParent<"RankOp">, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Execute the transfers to one peer in order";
  let description = [{
    The sequential code of the thread blocks that serve the connection from the
    enclosing rank to `peer`. The channel of a rank to itself does its local
    work: it announces that the rank is ready, copies what is already there, and
    waits for all that arrives. GPUs have `spread` times `blocks` blocks for it.

    **Constraints**
    - (channel_c1) the body holds only transfers, `coll.signal`, `coll.wait` and
      `coll.barrier`;
    - (channel_c2) `spread` is a power of two, at most 64.

    The example of `coll.program` shows three.
  }];
  let arguments = (ins I32Attr:$peer, DefaultValuedAttr<
      ConfinedAttr<I32Attr, [IntPositivePowerOf2, IntMaxValue<64>]>, "1">:$spread);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    `to` $peer (`spread` `=` $spread^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

defvar Coll_Count =
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntPositive]>, "1">;
defvar Coll_Slot = ConfinedAttr<I32Attr, [IntNonNegative]>;
/// In slots, or in chunks, from one repetition to the next.
defvar Coll_Stride =
    DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">;

defvar Coll_transferSlots = (ins I32Attr:$chunk, Coll_Count:$count,
    Coll_BufferAttr:$src_buffer, Coll_Slot:$src_slot,
    Coll_BufferAttr:$dst_buffer, Coll_Slot:$dst_slot, Coll_Slot:$step,
    Coll_Count:$times, Coll_Stride:$chunk_stride, Coll_Stride:$src_stride,
    Coll_Stride:$dst_stride);
defvar Coll_chunksFormat = [{
    `chunk` $chunk (`count` `=` $count^)? (`times` `=` $times^ `by` $chunk_stride)?
}];
defvar Coll_transferFormat = !strconcat(Coll_chunksFormat, [{
    `from` custom<BufferSlot>($src_buffer, $src_slot, $src_stride)
    `to` custom<BufferSlot>($dst_buffer, $dst_slot, $dst_stride)
    `step` `=` $step attr-dict
}]);

/// Each of `srcAt`, `rhsAt` and `dstAt` is "rank" or "peer": whose buffer it is
/// that the op accesses.
class Coll_TransferOp<string mnemonic, string srcAt, string rhsAt,
                      string dstAt>
    : Coll_Op<mnemonic, [HasParent<"ChannelOp">, Coll_Ordered,
        DeclareOpInterfaceMethods<Coll_TransferOpInterface,
            ["getReads", "getWrite", "setPlaces", "isRemote"]>]> {
  string ends = !strconcat([{
    static constexpr bool srcAtPeer = }], !if(!eq(srcAt, "peer"), "true", "false"), [{;
    static constexpr bool rhsAtPeer = }], !if(!eq(rhsAt, "peer"), "true", "false"), [{;
    static constexpr bool dstAtPeer = }], !if(!eq(dstAt, "peer"), "true", "false"), [{;
  }]);
  let extraClassDeclaration = ends;
}

class Coll_RemoteTransferOp<string mnemonic, string srcAt, string dstAt>
    : Coll_TransferOp<mnemonic, srcAt, "rank", dstAt> {
  let arguments = !con((ins UnitAttr:$dma), Coll_transferSlots);
  let assemblyFormat = !strconcat("(`dma` $dma^)? ", Coll_transferFormat);
  let extraClassDeclaration = !strconcat(ends, [{
    bool usesCopyEngine() { return getDma(); }
  }]);
}

defvar Coll_transferText = [{
    `count` chunks of one segment that lie side by side in all buffers move as
    one. `times = N by D` repeats that N times, each time D chunks further on,
    and in each buffer as many slots as `by` says there. `step` is the step of
    the schedule that asked for the transfer.
}];

defvar Coll_dmaText = [{
    With `dma` the host asks a copy engine to do it, and no thread takes part.
}];

def Coll_PutOp : Coll_RemoteTransferOp<"put", "rank", "peer"> {
  let summary = "Write chunks into the peer's buffer (push)";
  let description = !strconcat([{
    Copies from a buffer of this rank to a buffer of the channel's peer.
  }], Coll_transferText, Coll_dmaText, [{
    **Constraints**
    - (put_c1) the channel leads to another rank;
    - (put_c2) the destination is not the peer's input;
    - (put_c3) `dma` stands only in programs without signals and waits.

    The example of `coll.program` shows one.
  }]);
}

def Coll_GetOp : Coll_RemoteTransferOp<"get", "peer", "rank"> {
  let summary = "Read chunks from the peer's buffer (pull)";
  let description = !strconcat([{
    Copies from a buffer of the channel's peer to a buffer of this rank.
  }], Coll_transferText, Coll_dmaText, [{
    **Constraints**
    - (get_c1) the channel leads to another rank;
    - (get_c2) the destination is not this rank's input;
    - (get_c3) `dma` stands only in programs without signals and waits.

    ```mlir
    coll.topology @one_way ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
    }
    coll.program @bc of broadcast on @one_way chunks = 1 root = 0 blocks = 1 {
      coll.rank 0 scratch = 0 {
        coll.channel to 0 {
          coll.signal ready to 1 value = 1
          coll.copy chunk 0 from input[0] to output[0] step = 0
          coll.wait arrival from 1 value = 1
        }
      }
      coll.rank 1 scratch = 0 {
        coll.channel to 0 {
          coll.wait ready from 0 value = 1
          coll.get chunk 0 from input[0] to output[0] step = 0
          coll.signal arrival to 0 value = 1
        }
      }
    }
    ```
  }]);
}

def Coll_CopyOp : Coll_TransferOp<"copy", "rank", "rank", "rank"> {
  let summary = "Copy chunks between two buffers of this rank";
  let description = !strconcat(Coll_transferText, [{
    **Constraints**
    - (copy_c1) the destination is not the input.

    The example of `coll.program` shows one.
  }]);
  let arguments = Coll_transferSlots;
  let assemblyFormat = Coll_transferFormat;
}

class Coll_ReducingOp<string mnemonic, string rhsAt, string dstAt>
    : Coll_TransferOp<mnemonic, "rank", rhsAt, dstAt> {
  let arguments = (ins I32Attr:$chunk, Coll_Count:$count,
      Coll_BufferAttr:$src_buffer, Coll_Slot:$src_slot,
      Coll_BufferAttr:$rhs_buffer, Coll_Slot:$rhs_slot,
      Coll_BufferAttr:$dst_buffer, Coll_Slot:$dst_slot, Coll_Slot:$step,
      UnitAttr:$final, Coll_Count:$times, Coll_Stride:$chunk_stride,
      Coll_Stride:$src_stride, Coll_Stride:$rhs_stride,
      Coll_Stride:$dst_stride, Coll_Count:$terms, Coll_Stride:$term_stride);
  let assemblyFormat = !strconcat(Coll_chunksFormat, [{
    `from` custom<BufferSlot>($src_buffer, $src_slot, $src_stride) `,`
    custom<BufferSlot>($rhs_buffer, $rhs_slot, $rhs_stride)
    (`terms` `=` $terms^ `by` $term_stride)? `to` custom<BufferSlot>($dst_buffer, $dst_slot, $dst_stride)
    `step` `=` $step (`final` $final^)? attr-dict
  }]);
  let extraClassDeclaration = !strconcat(ends, [{
    bool completes() { return getFinal(); }
  }]);
}

def Coll_LocalReduceOp : Coll_ReducingOp<"local_reduce", "rank", "rank"> {
  let summary = "Reduce chunks of two buffers of this rank into a third";
  let description = !strconcat([{
    The destination becomes the reduction of the two sources. With `terms = N by
    D` the second one stands for N places, each D slots after the one before:
    they are reduced from left to right, and rounded once. It is `final` if
    it makes the chunks complete: they hold the contribution of every rank that
    has one. An average divides there, and nowhere else; `coll-check-program`
    checks the attribute.
  }], Coll_transferText, [{
    **Constraints**
    - (local_reduce_c1) the destination is not the input;
    - (local_reduce_c2) the collective is a combining one.

    ```mlir
    coll.topology @one_way ranks = 2 {
      coll.link 1 -> 0 bandwidth = 1
    }
    coll.program @sum of reduce on @one_way chunks = 1 root = 0 blocks = 1 {
      coll.rank 0 scratch = 1 {
        coll.channel to 0 {
          coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
        }
      }
      coll.rank 1 scratch = 0 {
        coll.channel to 0 {
          coll.put chunk 0 from input[0] to scratch[0] step = 0
        }
      }
    }
    ```
  }]);
}

def Coll_ReducePutOp : Coll_ReducingOp<"reduce_put", "rank", "peer"> {
  let summary = "Reduce chunks and write the result into the peer's buffer";
  let description = !strconcat([{
    A `coll.local_reduce` and the `coll.put` that passes its result on, in one: the
    reduction goes from registers straight to the channel's peer, and this rank
    keeps none of it. `final` is as for `coll.local_reduce`.
  }], Coll_transferText, [{
    **Constraints**
    - (reduce_put_c1) the channel leads to another rank;
    - (reduce_put_c2) the destination is not the peer's input;
    - (reduce_put_c3) the collective is a combining one.

    ```mlir
    coll.topology @line3 ranks = 3 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 2 bandwidth = 1
    }
    coll.program @sum of reduce on @line3 chunks = 1 root = 2 blocks = 1 {
      coll.rank 0 scratch = 0 {
        coll.channel to 1 {
          coll.put chunk 0 from input[0] to scratch[0] step = 0
        }
      }
      coll.rank 1 scratch = 1 {
        coll.channel to 2 {
          coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 1
        }
      }
      coll.rank 2 scratch = 1 {
        coll.channel to 2 {
          coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
        }
      }
    }
    ```
  }]);
}

def Coll_GetReduceOp : Coll_ReducingOp<"get_reduce", "peer", "rank"> {
  let summary = "Read chunks from the peer's buffer and reduce them";
  let description = !strconcat([{
    A `coll.get` and the `coll.local_reduce` of what it brings, in one: the second
    source is a buffer of the channel's peer, the first source and the
    destination are buffers of this rank. `final` is as for `coll.local_reduce`.
  }], Coll_transferText, [{
    **Constraints**
    - (get_reduce_c1) the channel leads to another rank;
    - (get_reduce_c2) the destination is not the input;
    - (get_reduce_c3) the collective is a combining one.

    ```mlir
    coll.topology @one_way ranks = 2 {
      coll.link 1 -> 0 bandwidth = 1
    }
    coll.program @sum of reduce on @one_way chunks = 1 root = 0 blocks = 1 {
      coll.rank 0 scratch = 0 {
        coll.channel to 1 {
          coll.get_reduce chunk 0 from input[0], input[0] to output[0] step = 0 final
        }
      }
      coll.rank 1 scratch = 0 {
        coll.channel to 1 {
        }
      }
    }
    ```
  }]);
}

include "Coll/CollSwitchOps.td"
include "Coll/CollFlagOps.td"

#endif // COLL_PROGRAM_OPS
