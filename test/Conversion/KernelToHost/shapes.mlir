// RUN: sccl-opt %s -coll-check-program -convert-coll-to-kernel=host -convert-kernel-to-host -canonicalize | FileCheck %s --check-prefix=CALLS --implicit-check-not=@sccl_table
// RUN: sccl-opt %s -convert-coll-to-kernel=host -collk-tabulate=code-shape=table -convert-kernel-to-host | FileCheck %s --check-prefix=TABLE

// Alternating scratch: in launches of odd number a slot of rank 1 is two further.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}

// CALLS-LABEL: llvm.func @swap_rank0(
// CALLS-SAME:    %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %[[PEERS:[a-z0-9]+]]: !llvm.ptr,
// CALLS:         %[[LAUNCH:.*]] = llvm.call @coll_begin
// CALLS:         %[[ENTRY:.*]] = llvm.getelementptr %[[PEERS]][48]
// CALLS-NEXT:    %[[DST:.*]] = llvm.load %[[ENTRY]]
// CALLS:         %[[NUMBER:.*]] = arith.trunci %[[LAUNCH]] : i64 to i32
// CALLS:         %[[ODD:.*]] = arith.andi %[[NUMBER]],
// CALLS-NEXT:    %[[SKIP:.*]] = arith.muli %[[ODD]], %c2_i32
// CALLS-NEXT:    %[[CHUNK:.*]] = arith.addi %[[SKIP]], %c1_i32
// CALLS:         llvm.call @coll_transfer(%[[DST]], %{{.*}}, %[[CHUNK]],
// CALLS:         arith.andi
// CALLS:         llvm.call @coll_transfer({{.*}}, %[[SCRATCH]],
// CALLS-LABEL: llvm.func @swap_rank1(

// The ops of all channels of a rank are one channel, in an order that can run. One
// function serves all ranks.
// TABLE-LABEL: llvm.func @sccl_table(
// TABLE-SAME:    %[[TABLE:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: i64, %{{[a-z0-9]+}}: i64) {
// TABLE:         llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// TABLE:         llvm.call @coll_begin
// TABLE:         scf.while
// TABLE:           llvm.call @coll_transfer(
// TABLE:           llvm.call @coll_signal(
// TABLE:           llvm.call @coll_wait(
// TABLE:         llvm.call @coll_end
// TABLE-NOT:   @swap_rank0
coll.program @swap of all_gather on @pair chunks = 1 blocks = 1 double_buffered {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
      coll.copy chunk 1 from scratch[0] to output[1] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[1] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 0 {
      coll.put chunk 1 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.copy chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 value = 1
      coll.copy chunk 0 from scratch[1] to output[0] step = 0
    }
  }
}
