// RUN: sccl-opt %s -convert-kernel-to-host | FileCheck %s

// A mark is the address of its words: kind, channel, peer, pull; position, count,
// times, chunks of a segment; and the flag's four. See TraceMark.h.
// CHECK-LABEL: llvm.func @p_rank0
// CHECK: %[[LAUNCH:.*]] = llvm.call @coll_begin
// CHECK: llvm.call @sccl_mark(%{{.*}}, %[[LAUNCH]])
// CHECK: llvm.call @sccl_mark(%{{.*}}, %[[LAUNCH]])
// CHECK: llvm.mlir.global internal @p_marks(dense<[0, 3, -1, 0, 0, 0, 0, 4, 1, 128, 2, 1, 1, 0, 5, 1, 2, 1, 1, 4, 0, 0, 0, 0]>
// CHECK: llvm.func @sccl_mark(!llvm.ptr, i64)
collk.program @p ranks = 6 chunks = 4 blocks = 1 slots = 3 host {
  collk.kernel @p_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c128 = arith.constant 128 : i32
      %part = collk.part %block of %c1 chunks %c1
      %launch = collk.begin %c0 of %c1 by %part
      %flag = collk.flag %c1[%c128] per_launch %c2 value %c1
      collk.mark wait channel 3 flag %flag in %launch
      collk.mark transfer channel 0 peer 5 pull chunks 1 at 2 times 1 in %launch
    }
  }
}
