// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=element=bf16 | FileCheck %s --check-prefixes=CHECK,HALF
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="element=i32 reduction=avg" | FileCheck %s --check-prefixes=CHECK,AVG
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=target=rocdl | FileCheck %s --check-prefixes=ROCDL

// Wide accesses where the addresses agree modulo 16; the bytes before and behind
// them by elements, one for each thread.
// CHECK-LABEL: llvm.func internal @coll_reduce_elements(
// CHECK-SAME:    %[[DST:[a-z0-9]+]]: !llvm.ptr<1>, %[[LHS:[a-z0-9]+]]: !llvm.ptr<1>, %[[RHS:[a-z0-9]+]]: !llvm.ptr<1>, %[[BYTES:[a-z0-9]+]]: i64
// CHECK:         arith.xori
// CHECK:         arith.xori
// CHECK:         scf.if
// CHECK:           arith.minui %{{.*}}, %[[BYTES]]
// CHECK:           scf.if
// HALF:              arith.extf {{.*}} : bf16 to f32
// CHECK:           scf.for
// HALF-COUNT-4:      llvm.load {{.*}} -> vector<8xbf16>
// HALF-COUNT-2:      llvm.store {{.*}} : vector<8xbf16>
// CHECK:           scf.for
// CHECK:           scf.if
// CHECK:         } else {
// CHECK:           scf.for
// CHECK:         llvm.return

// The divisor is spread over a vector once.
// AVG-LABEL:   llvm.func internal @coll_average(
// AVG-SAME:      %[[WORD:[a-z0-9]+]]: i32) attributes
// AVG:           %[[DIVISOR:.*]] = arith.andi %[[WORD]], %{{.*}} : i32
// AVG:           llvm.insertelement %[[DIVISOR]]
// AVG-NEXT:      %[[ALL:.*]] = llvm.shufflevector {{.*}} [0, 0, 0, 0]
// AVG:           scf.for
// AVG:             arith.addi {{.*}} : vector<4xi32>
// AVG-NEXT:        arith.divsi %{{.*}}, %[[ALL]] : vector<4xi32>

// On AMD the accesses of a thread are one wave of 64 apart, to be in reach of an
// instruction's offset.
// ROCDL-LABEL: llvm.func internal @coll_copy(
// ROCDL:         scf.for
// ROCDL:           llvm.getelementptr {{.*}}[1024]
// ROCDL:           llvm.getelementptr {{.*}}[7168]
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
