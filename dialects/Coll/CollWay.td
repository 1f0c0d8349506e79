//===- CollWay.td - Ways to lower a schedule ---------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COLL_WAY
#define COLL_WAY

include "Coll/CollEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Coll_WayAttr : AttrDef<Coll_Dialect, "Way"> {
  let mnemonic = "way";
  let summary = "a way to lower a schedule, and the sizes it is the best for";
  let description = [{
    Lowered in this way, the schedule becomes one program:

    - `transport`: `push` (the sender's threads write), `pull` (the receiver's
      threads read) or `dma` (copy engines, a kernel for each step);
    - `protocol`: `direct` (peers access the buffers of users, flags announce
      chunks), `scratch` (peers access scratch memory only), `double_buffer`
      (the same with two halves in turn, which spares handshakes), `ll`
      (words of data and launch number, without flags) or `eager` (what is sent
      in the first step lands in such halves of scratch while peers shake hands,
      all else in the buffers of users) or `in_network` (the switch copies and
      reduces what it can, by way of scratch; all else is `direct`);
    - `pieces` of each chunk follow each other through the steps, `distance`
      steps apart, or as many rounds with `order = rounds`;
    - `sm_budget`: no rank has more thread blocks on a GPU; 0 is no limit;
    - `sum_order`: the order of summation, as `--order` has it; `same` if it is
      not there. See docs/Numerics.md;
    - `one_rounding`: sums of floats of less than 32 bits are rounded to the type
      once, as `--one-rounding` has it;
    - `wire`: the type in which partial sums are kept and sent, as `--wire` has
      it; that of the elements if it is not there.

    `best_at` lists the sizes of a send buffer for which `sccl plan` found no
    better program: bytes, nanoseconds as simulated, and nanoseconds that no
    program takes less than, and so on with the next size. Plans choose by it
    until somebody measures. A way without sizes is one that `sccl bench --tune` may
    try.

    **Constraints**
    - (way_c1) `pieces` and `distance` are between 1 and 1048576;
    - (way_c2) `best_at` has triples, with sizes that ascend and no negative
      number;
    - (way_c3) `sum_order` is an order of summation;
    - (way_c4) `transport` is neither `multicast` nor `load_reduce`;
    - (way_c5) `wire` is `f32`.
  }];
  let parameters = (ins
    DefaultValuedParameter<"::sccl::coll::Transport", "Transport::Push">:$transport,
    DefaultValuedParameter<"::sccl::coll::Protocol", "Protocol::Direct">:$protocol,
    DefaultValuedParameter<"unsigned", "1">:$pieces,
    DefaultValuedParameter<"unsigned", "6">:$distance,
    DefaultValuedParameter<"::sccl::coll::PieceOrder", "PieceOrder::Steps">:$order,
    DefaultValuedParameter<"unsigned", "0">:$sm_budget,
    OptionalParameter<"::mlir::StringAttr">:$sum_order,
    DefaultValuedParameter<"bool", "false">:$one_rounding,
    OptionalParameter<"::mlir::StringAttr">:$wire,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$best_at);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // COLL_WAY
