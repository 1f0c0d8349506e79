//===- CollFlagOps.td - Flags and barriers of programs -----*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included at the end of CollProgramOps.td, which has what ops are made of.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_FLAG_OPS
#define COLL_FLAG_OPS

def Coll_SignalOp : Coll_Op<"signal", [HasParent<"ChannelOp">, Coll_Ordered,
    DeclareOpInterfaceMethods<Coll_FlagOpInterface, ["getFlagId"]>]> {
  let summary = "Set a flag in a peer's memory, after everything before it";
  let description = [{
    Publishes all earlier accesses of this thread block, then sets a flag in the
    memory of `peer`. Each flag has one writer and only grows (check D4): in
    launch e the word becomes e * K + `value`, where K is the number of signals
    on that flag in one launch. `arrival` says that the transfers of this channel
    before it are done: chunks have arrived, or have been read. `ready` says that
    this rank's launch has begun, so its buffers may be read and written. Signals
    that follow each other are published together.

    **Constraints**
    - (signal_c1) `ready` is signalled by the channel of the rank to itself;
    - (signal_c2) `value` is at least 1, and is 1 for `ready`.

    The example of `coll.program` shows two.
  }];
  let arguments = (ins Coll_FlagAttr:$flag, I32Attr:$peer,
                       ConfinedAttr<I32Attr, [IntPositive]>:$value);
  let assemblyFormat = [{
    custom<FlagKeyword>($flag) `to` $peer `value` `=` $value attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_WaitOp : Coll_Op<"wait", [HasParent<"ChannelOp">, Coll_Ordered,
    DeclareOpInterfaceMethods<Coll_FlagOpInterface, ["getFlagId"]>]> {
  let summary = "Wait until a flag that a peer sets has grown to a value";
  let description = [{
    Returns when the flag that `peer` sets in this rank's memory is at least
    e * K + `value` in launch e, and makes visible all that was written before
    the signal. The arrival is one that the channel of `peer` to rank `channel`
    signals, by default to this rank. Waits that follow each other end together.

    **Constraints**
    - (wait_c1) `value` is at least 1, and is 1 for `ready`.

    The example of `coll.program` shows two.
  }];
  let arguments = (ins Coll_FlagAttr:$flag, I32Attr:$peer,
                       OptionalAttr<I32Attr>:$channel,
                       ConfinedAttr<I32Attr, [IntPositive]>:$value);
  let assemblyFormat = [{
    custom<FlagKeyword>($flag) `from` $peer (`channel` `=` $channel^)?
    `value` `=` $value attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_BarrierOp : Coll_Op<"barrier", [HasParent<"ChannelOp">, Coll_Ordered]> {
  let summary = "End a kernel: go on when all channels of all ranks are here";
  let description = [{
    Everything before it, on all ranks, happens before everything after it. A
    program with barriers becomes one kernel for each part between two of them;
    the host starts a part on any rank only when the part before it is done on
    all ranks, and executes the `dma` transfers of a part beside its kernel.

    ```mlir
    coll.topology @one_way ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
    }
    coll.program @bc of broadcast on @one_way chunks = 1 root = 0 blocks = 1 {
      coll.rank 0 scratch = 0 {
        coll.channel to 0 {
          coll.barrier
          coll.copy chunk 0 from input[0] to output[0] step = 0
          coll.barrier
        }
        coll.channel to 1 {
          coll.barrier
          coll.put dma chunk 0 from input[0] to output[0] step = 0
          coll.barrier
        }
      }
      coll.rank 1 scratch = 0 {
        coll.channel to 1 {
          coll.barrier
          coll.barrier
        }
      }
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // COLL_FLAG_OPS
