// RUN: sccl-opt %s -sccl-to-nccl-device | FileCheck %s
// RUN: sccl-opt %s -sccl-to-nccl-device=ranks-per-box=2 | FileCheck %s --check-prefix=ONE

// Boxes are those of the machine, unless the option says otherwise.

// CHECK:   llvm.call @ncclGinPut
// CHECK:   llvm.mlir.global external @bc_nccl(dense<[1, 2, 1,
// ONE-NOT: llvm.call @ncclGinPut
// ONE:     llvm.mlir.global external @bc_nccl(dense<[1, 2, 2,

coll.machine @pair {
  coll.vertex gpu "a" box = 0
  coll.vertex nic "na" box = 0
  coll.vertex gpu "b" box = 1
  coll.vertex nic "nb" box = 1
}
coll.topology @link ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.schedule @bc of broadcast on @link chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
