// RUN: sccl-opt %s -sccl-to-host="element=i32 reduction=max" | FileCheck %s
// RUN: sccl-opt %s -sccl-to-host | FileCheck %s --check-prefix=NONE
// RUN: sccl-opt %s -sccl-to-host | mlir-translate -mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// NONE-NOT: {{ (coll|scf|arith|cf|gpu)\.[a-z_]+ [^@]}}
// NONE-NOT: unrealized_conversion_cast

// CHECK-LABEL: llvm.func @sum_rank0(
// CHECK-LABEL: llvm.func @sum_rank1(
// CHECK-LABEL: llvm.func internal @coll_reduce_elements
// CHECK:         llvm.intr.smax{{.*}} : (i32, i32) -> i32

// LLVM: define void @sum_rank0(
// LLVM: store atomic i64 {{.*}} release, align 8
// LLVM: load atomic i64, {{.*}} acquire, align 8

coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.schedule @sum of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
}
