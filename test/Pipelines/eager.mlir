// In eager programs only what touches a peer's output waits until the peer is ready: what is
// sent in the first step lands in scratch, of which there are two halves.
//
// RUN: sccl-opt %s -sccl-lower="double-buffer pieces=2 piece-distance=1" | FileCheck %s
// RUN: sccl run %s --double-buffer --pieces=2 --piece-distance=1 --iterations=5

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}

// CHECK-LABEL: coll.program @gather of all_gather
// CHECK-SAME:  double_buffered
// CHECK:       coll.rank 0 scratch = 1 {
// CHECK-NEXT:    coll.channel to 0
// CHECK-NEXT:      coll.signal ready to 1 value = 1
// CHECK-NEXT:      coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
// CHECK-NEXT:      coll.wait arrival from 1 value = 1
// CHECK-NEXT:      coll.copy chunk 2 from scratch[0] to output[2] step = 0
// CHECK-NEXT:      coll.wait arrival from 1 value = 2
// CHECK:         coll.channel to 1 {
// CHECK-NEXT:      coll.put chunk 0 from input[0] to scratch[0] step = 0
// CHECK-NEXT:      coll.signal arrival to 1 value = 1
// CHECK-NEXT:      coll.wait ready from 1 value = 1
// CHECK-NEXT:      coll.put chunk 1 from input[1] to output[1] step = 1
// CHECK-NEXT:      coll.signal arrival to 1 value = 2
coll.schedule @gather of all_gather on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}
