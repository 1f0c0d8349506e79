//===- CollSwitchOps.td - What programs do by switches -----*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included at the end of CollProgramOps.td, which has what ops are made of.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_SWITCH_OPS
#define COLL_SWITCH_OPS

/// Between scratch and a switch.
class Coll_SwitchOp<string mnemonic>
    : Coll_Op<mnemonic, [HasParent<"ChannelOp">, Coll_Ordered,
        DeclareOpInterfaceMethods<Coll_TransferOpInterface,
            ["getReads", "getWrite", "setPlaces", "isRemote"]>]>;

def Coll_MulticastOp : Coll_SwitchOp<"multicast"> {
  let summary = "Let the switch write chunks into scratch of one of its ranks";
  let description = !strconcat([{
    Copies from scratch of this rank to scratch of rank `of`, by way of the
    switch that joins both. What follows each other, and differs only in that
    rank, is one access: the switch copies it. There is one of them for each rank
    of the switch, in ascending order, this one included.
  }], Coll_transferText, [{
    **Constraints**
    - (multicast_c1) both ends are in scratch, and the rank exists.

    ```mlir
    coll.topology @switched ranks = 3 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 0 -> 2 bandwidth = 1
    }
    coll.program @bc of broadcast on @switched chunks = 1 root = 0 blocks = 1 {
      coll.rank 0 scratch = 2 {
        coll.channel to 0 {
          coll.copy chunk 0 from input[0] to scratch[1] step = 0
          coll.multicast chunk 0 from scratch[1] to scratch[0] of 0 step = 0
          coll.multicast chunk 0 from scratch[1] to scratch[0] of 1 step = 0
          coll.multicast chunk 0 from scratch[1] to scratch[0] of 2 step = 0
        }
      }
      coll.rank 1 scratch = 1 {
      }
      coll.rank 2 scratch = 1 {
      }
    }
    ```
  }]);
  let arguments = !con(Coll_transferSlots, (ins Coll_Slot:$of));
  let assemblyFormat = !strconcat(Coll_chunksFormat, [{
    `from` custom<BufferSlot>($src_buffer, $src_slot, $src_stride)
    `to` custom<BufferSlot>($dst_buffer, $dst_slot, $dst_stride) `of` $of
    `step` `=` $step attr-dict
  }]);
}

def Coll_LoadReduceOp : Coll_SwitchOp<"load_reduce"> {
  let summary = "Read the reduction of what ranks of a switch have in scratch";
  let description = !strconcat([{
    The destination, in scratch of this rank, becomes the reduction of what is in
    the same slots of scratch of the ranks `of`, as the switch that joins them
    reduces it: in an order, and with roundings, that nobody knows before. It
    is `final` as a `coll.local_reduce` is.
  }], Coll_transferText, [{
    **Constraints**
    - (load_reduce_c1) both ends are in scratch; the ranks exist, ascend, and are
      two or more, this one among them;
    - (load_reduce_c2) the collective is a combining one.

    ```mlir
    coll.topology @pair ranks = 2 {
      coll.link 0 -> 1 bandwidth = 1
      coll.link 1 -> 0 bandwidth = 1
    }
    coll.program @sum of reduce on @pair chunks = 1 root = 0 blocks = 1 {
      coll.rank 0 scratch = 2 {
        coll.channel to 0 {
          coll.copy chunk 0 from input[0] to scratch[0] step = 0
          coll.load_reduce chunk 0 from scratch[0] of [0, 1] to scratch[1] step = 0 final
        }
      }
      coll.rank 1 scratch = 1 {
        coll.channel to 1 {
          coll.copy chunk 0 from input[0] to scratch[0] step = 0
        }
      }
    }
    ```
  }]);
  let arguments = !con(Coll_transferSlots,
                       (ins DenseI32ArrayAttr:$of, UnitAttr:$final));
  let assemblyFormat = !strconcat(Coll_chunksFormat, [{
    `from` custom<BufferSlot>($src_buffer, $src_slot, $src_stride) `of` $of
    `to` custom<BufferSlot>($dst_buffer, $dst_slot, $dst_stride)
    `step` `=` $step (`final` $final^)? attr-dict
  }]);
  let extraClassDeclaration = [{
    bool completes() { return getFinal(); }
  }];
}

#endif // COLL_SWITCH_OPS
