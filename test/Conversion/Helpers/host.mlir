// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host=reduction=avg | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host=cache-bytes=0 | FileCheck %s --check-prefix=STREAM

// A loop over elements, which LLVM turns into vectors.
// CHECK-LABEL: llvm.func internal @coll_copy(
// CHECK-NEXT:    "llvm.intr.memcpy"
// CHECK-NEXT:    llvm.return
// CHECK-LABEL: llvm.func internal @coll_reduce_elements(
// CHECK-LABEL: llvm.func internal @coll_average(
// Of two sums, the one that loses no bits is taken unless it is infinite.
// CHECK:         arith.uitofp {{.*}} : i32 to f32
// CHECK:         scf.for
// CHECK:           %[[SAFE:.*]] = arith.addf
// CHECK:           %[[EXACT:.*]] = arith.addf
// CHECK:           %[[FITS:.*]] = arith.cmpi ult
// CHECK-NEXT:      %[[SUM:.*]] = arith.select %[[FITS]], %[[EXACT]], %[[SAFE]] : f32
// CHECK-NEXT:      %[[DIVISOR:.*]] = arith.select %[[FITS]],
// CHECK-NEXT:      arith.divf %[[SUM]], %[[DIVISOR]] : f32

// What does not fit in the cache bypasses it: lines of 64 bytes, then a fence,
// because on x86-64 a release does not order such stores.
// STREAM-LABEL: llvm.func internal @coll_transfer(
// STREAM:         arith.cmpi uge, %{{.*}}, %{{.*}} : i64
// STREAM-NEXT:    scf.if
// STREAM-NEXT:      llvm.call @coll_copy_stream(
// STREAM-LABEL: llvm.func internal @coll_copy_stream(
// STREAM:         scf.for
// STREAM-COUNT-4:   llvm.load {{.*}} -> vector<16xi32>
// STREAM-COUNT-4:   llvm.store {{.*}} nontemporal} : vector<16xi32>
// STREAM:         "llvm.intr.memcpy"
// STREAM-NEXT:    llvm.{{call_intrinsic "llvm.x86.sse.sfence"|fence release}}
// STREAM-NEXT:    llvm.return
// STREAM-LABEL: llvm.func internal @coll_reduce_elements_stream(
// STREAM:         llvm.alloca
// STREAM:         scf.for
// STREAM:           llvm.call @coll_reduce_elements(
// STREAM-NEXT:      llvm.call @coll_copy_stream(
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
