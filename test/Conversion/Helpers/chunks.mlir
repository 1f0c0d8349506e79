// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=reduction=avg | FileCheck %s --check-prefix=AVG

// Where the chunks of a segment are, and which slice of them is this block's.
// CHECK-LABEL: llvm.func internal @coll_transfer(
// CHECK-SAME:    %[[DST:[a-z0-9]+]]: !llvm.ptr<1>, %[[SEG:[a-z0-9]+]]: i32, %[[CHUNK:[a-z0-9]+]]: i32, %[[SRC:[a-z0-9]+]]: !llvm.ptr<1>, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[POSITION:[a-z0-9]+]]: i32, %[[COUNT:[a-z0-9]+]]: i32, %[[SEGMENT:[a-z0-9]+]]: i64, %[[DISTANCE:[a-z0-9]+]]: i64, %[[CHUNKS:[a-z0-9]+]]: i32, %[[BLOCK:[a-z0-9]+]]: i32, %[[BLOCKS:[a-z0-9]+]]: i32) attributes {no_inline}

// The stride of chunks is their share of the segment, rounded up to 16.
// CHECK:         arith.divui
// CHECK-NEXT:    %[[C15:.*]] = arith.constant 15
// CHECK-NEXT:    arith.addi %{{.*}}, %[[C15]]
// CHECK-NEXT:    %[[MASK:.*]] = arith.constant -16
// CHECK-NEXT:    %[[STRIDE:.*]] = arith.andi %{{.*}}, %[[MASK]]

// Of one block all chunks are one piece, else each is.
// CHECK:         %[[ALONE:.*]] = arith.cmpi eq
// CHECK:         %[[PIECES:.*]] = arith.select %[[ALONE]], %c1_i32{{.*}}, %[[COUNT]]
// CHECK:         %[[PIECE:.*]] = arith.select %[[ALONE]], %{{.*}}, %[[STRIDE]]
// CHECK:         %[[TO_CHUNK:.*]] = arith.muli %[[STRIDE]], %{{.*}}
// CHECK:         %[[TO_SEGMENT:.*]] = arith.muli %[[DISTANCE]], %{{.*}}

// A chunk that is in its place already is not copied.
// CHECK:         %[[DIFFER:.*]] = llvm.icmp "ne"
// CHECK:         scf.for {{.*}} to %[[PIECES]]
// CHECK:           arith.andi %{{.*}}, %[[DIFFER]] : i1
// CHECK:           scf.if
// CHECK-NEXT:        llvm.call @coll_copy(
// CHECK:           llvm.getelementptr {{.*}}[%[[PIECE]]]
// CHECK-LABEL: llvm.func internal @coll_reduce(
// CHECK-NOT:     llvm.icmp
// CHECK:           llvm.call @coll_reduce_elements(

// With a divisor that is not 0 in its word a reduction makes its chunk complete.
// AVG-LABEL:   llvm.func internal @coll_reduce(
// AVG-SAME:      %[[WORD:[a-z0-9]+]]: i32) attributes {no_inline}
// AVG:           %[[DIVISOR:.*]] = arith.andi %[[WORD]], %c131071_i32
// AVG:           %[[DIVIDES:.*]] = arith.cmpi ne, %[[DIVISOR]],
// AVG-NEXT:      scf.if %[[DIVIDES]] {
// AVG-NEXT:        llvm.call @coll_average({{.*}}, %[[WORD]])
// AVG-NEXT:      } else {
// AVG-NEXT:        llvm.call @coll_reduce_elements({{.*}}, %[[WORD]])
coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 bandwidth = 1
}
coll.program @sum of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}
