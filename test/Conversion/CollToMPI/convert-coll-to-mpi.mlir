// RUN: sccl-opt %s -sccl-to-mpi | FileCheck %s
// RUN: sccl-opt %s -sccl-to-mpi=reduction=avg | FileCheck %s --check-prefix=AVG
// RUN: sccl-opt %s -sccl-lower=transport=pull -convert-coll-to-mpi | FileCheck %s --check-prefix=PULL
// RUN: not sccl-opt %s -convert-coll-to-mpi 2>&1 | FileCheck %s --check-prefix=NOT

// Receives that wait for nothing come first. What has arrived is reduced before it
// is passed on; memory that a message reads is written after it.

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @sum of all_reduce on @pair chunks = 2 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
    coll.reduce 1 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}

// CHECK-NOT:   coll.
// CHECK-LABEL: func.func @sum_rank0(
// CHECK-SAME:      %[[IN:.*]]: memref<?xf32>, %[[OUT:.*]]: memref<?xf32>, %[[SCRATCH:.*]]: memref<?xf32>, %[[CHUNK:.*]]: index)
// CHECK:         %[[WORLD:.*]] = mpi.comm_world
// CHECK:         %[[ARRIVED:.*]] = memref.subview %[[SCRATCH]][0] [%[[CHUNK]]] [1]
// CHECK:         %[[FIRST:.*]] = mpi.irecv(%{{.*}}, %c0_i32, %c1_i32, %[[WORLD]])
// CHECK-NEXT:    mpi.wait(%[[FIRST]])
// CHECK:         scf.for
// CHECK:           arith.addf
// CHECK:         %[[OWN:.*]] = mpi.isend(%{{.*}}, %c0_i32, %c1_i32, %[[WORLD]])
// CHECK:         %[[SUM:.*]] = mpi.isend(%{{.*}}, %c1_i32, %c1_i32, %[[WORLD]])
// CHECK:         mpi.wait(%[[OWN]])
// CHECK:         %[[OTHER:.*]] = mpi.irecv(%{{.*}}, %c1_i32, %c1_i32, %[[WORLD]])
// CHECK:         mpi.wait(%[[SUM]])
// CHECK-NEXT:    mpi.wait(%[[OTHER]])
// CHECK-NEXT:    return
// CHECK-LABEL: func.func @sum_rank1(
// CHECK:         mpi.irecv(%{{.*}}, %c0_i32, %c0_i32
// CHECK:         mpi.isend(%{{.*}}, %c0_i32, %c0_i32

// AVG:           arith.divf

// Whoever has the chunk sends it.
// PULL-LABEL: func.func @sum_rank0(
// PULL:         mpi.irecv
// PULL:         mpi.isend
// PULL:         scf.for
// PULL:         mpi.isend

// NOT: error: 'coll.schedule' op is not a program yet; lower it first, as the pipeline sccl-lower does
