// RUN: sccl-opt %s -verify-roundtrip | FileCheck %s
// RUN: sccl-opt %s -coll-check-schedule -coll-lower-schedule | FileCheck %s --check-prefix=LOWERED
// RUN: sccl-opt %s -mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: sccl run %s --bytes=4800 --iterations=5 | FileCheck %s --check-prefix=EXEC

// Chunks that cross a link together are one op; a range of one is a chunk.
// EXEC: #wrong 0 of {{[1-9]}}

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 bandwidth = 4
}

// CHECK-LABEL: coll.schedule @sc
// CHECK: coll.send 6 to 10 by 2, 11 over 0 -> 1
// CHECK-NEXT: coll.send 7, 9 over 0 -> 1 by pull {lane = 1 : i64}
// LOWERED: coll.channel to 1
// LOWERED-NEXT: coll.put chunk 6 from input[6] to output[0] step = 0
// LOWERED-NEXT: coll.put chunk 8 from input[8] to output[2] step = 0
// LOWERED-NEXT: coll.put chunk 10 count = 2 from input[10] to output[4] step = 0
// LOWERED: coll.channel to 0
// LOWERED-NEXT: coll.get chunk 7 from input[7] to output[1] step = 0
// GENERIC: "coll.send"() <{dst = 1 : i32, ranges = array<i32: 6, 3, 2, 11, 1, 1>, src = 0 : i32}>
coll.schedule @sc of scatter on @one_way chunks = 12 root = 0 {
  coll.step rounds = 3 {
    coll.send 6 to 10 by 2, 11 to 11 over 0 -> 1
    coll.send 7 to 7 by 5, 9 over 0 -> 1 by pull {lane = 1 : i64}
  }
}
