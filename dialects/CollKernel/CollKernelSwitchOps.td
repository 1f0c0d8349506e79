//===- CollKernelSwitchOps.td - What switches do -----------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions that the switch of a group of ranks computes. Copies that it makes
// are `collk.copy` to one of its slots.
//
//===----------------------------------------------------------------------===//

#ifndef COLLKERNEL_SWITCH_OPS
#define COLLKERNEL_SWITCH_OPS

include "CollKernel/CollKernelDialect.td"

def CollKernel_LoadReduceOp
    : CollKernel_OrderedOp<"load_reduce", [AttrSizedOperandSegments]> {
  let summary = "Fetch the reduction of the chunks of all ranks of a group";
  let description = [{
    The switch reads the place `src` in scratch of each rank of the group, the
    rank's own included, and reduces what is there; order and precision are its
    own. What becomes of chunks is as for `collk.copy`, in whole units of 16 bytes:
    the padding of a segment's last chunk may be moved with it.

    **Constraints**
    - (load_reduce_c1) it writes to scratch of the rank itself.

    Each of two ranks fetches the sum of both vectors:

    ```mlir
    collk.program @sum ranks = 2 chunks = 1 blocks = 1 slots = 4 {
      collk.kernel @sum_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c2 = arith.constant 2 : i32
          %part = collk.part %block of %c1 chunks %c1
          // Rank 2 of 2: the group at its switch.
          %group = collk.peer %c2 scratch
          %vectors = collk.slot %group[%c0, %c0] : !collk.switch_slot
          %scratch = collk.own scratch
          %sum = collk.slot %scratch[%c0, %c1] : !collk.slot
          collk.load_reduce %vectors to %sum chunks %c1 at %c0 by %part
        }
      }
    }
    ```
  }];
  let arguments = (ins CollKernel_SwitchSlotType:$src, CollKernel_SlotType:$dst,
                       I32:$count, I32:$position, Optional<I32>:$times,
                       CollKernel_PartType:$part, Optional<I64>:$launch);
  let assemblyFormat = [{
    $src `to` $dst `chunks` $count `at` $position (`times` $times^)?
    `by` $part (`in` $launch^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // COLLKERNEL_SWITCH_OPS
