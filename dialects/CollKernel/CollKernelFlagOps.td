//===- CollKernelFlagOps.td - In which order ---------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flags that channels set and wait for, and threads that wait for each other.
//
//===----------------------------------------------------------------------===//

#ifndef COLLKERNEL_FLAG_OPS
#define COLLKERNEL_FLAG_OPS

include "CollKernel/CollKernelDialect.td"

def CollKernel_FlagOp : CollKernel_Op<"flag", [Pure]> {
  let summary = "A flag and its value";
  let description = [{
    Of block 0 at byte `offset` of the control memory of rank `peer`, and a cache
    line further for each block, where the low bits of `offset` say how the blocks
    of who sets it and of who waits for it correspond (`FlagOffset`). In launch e
    it grows to e * `per_launch` + `value`. The example of `collk.program` shows
    four.
  }];
  let arguments = (ins I32:$peer, I32:$offset, I32:$per_launch, I32:$value);
  let results = (outs CollKernel_FlagType:$result);
  let assemblyFormat = [{
    $peer `[` $offset `]` `per_launch` $per_launch `value` $value attr-dict
  }];
}

def CollKernel_FlagsOp : CollKernel_Op<"flags", [Pure]> {
  let summary = "Flags that the table of the rank lists";
  let description = [{
    `count` of them, the first in unit `unit` of the table. The example of
    `collk.load` shows them.
  }];
  let arguments = (ins I32:$unit, I32:$count);
  let results = (outs CollKernel_FlagsType:$result);
  let assemblyFormat = "$unit `count` $count attr-dict";
}

class CollKernel_FlagUserOp<string mnemonic> : CollKernel_OrderedOp<mnemonic> {
  let arguments = (ins Variadic<CollKernel_AnyFlag>:$flags,
                       CollKernel_PartType:$part, I64:$launch);
  let assemblyFormat = [{
    $flags `by` $part `in` $launch attr-dict `:` type($flags)
  }];
  let hasVerifier = 1;
}

defvar CollKernel_flagText = [{

    **Constraints**
    - (flags_c1) there are 1 to 64 flags, or one row of them in a table.

    The example of `collk.program` shows two.
}];

def CollKernel_SignalOp : CollKernel_FlagUserOp<"signal"> {
  let summary = "Set flags, after everything before it";
  let description = !strconcat([{
    Publishes what all threads of the block have done, then sets the flags.
  }], CollKernel_flagText);
}

def CollKernel_WaitOp : CollKernel_FlagUserOp<"wait"> {
  let summary = "Wait for flags";
  let description = !strconcat([{
    Returns, in all threads of the block, when the flags have their values, and
    makes visible what was published before, or when the launch is given up.
  }], CollKernel_flagText);
}

def CollKernel_JoinOp : CollKernel_OrderedOp<"join"> {
  let summary = "Let the threads of a block wait for each other";
  let description = [{
    What one has accessed, another may access afterwards.

    ```mlir
    collk.program @p ranks = 1 chunks = 1 blocks = 1 slots = 1 {
      collk.kernel @p_rank0 rank = 0 {
        collk.channel 0 {
        ^bb0(%block: i32):
          %c1 = arith.constant 1 : i32
          %part = collk.part %block of %c1 chunks %c1
          collk.join by %part
        }
      }
    }
    ```
  }];
  let arguments = (ins CollKernel_PartType:$part);
  let assemblyFormat = "`by` $part attr-dict";
}

#endif // COLLKERNEL_FLAG_OPS
