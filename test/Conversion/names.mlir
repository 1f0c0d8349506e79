// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=virtual-ranks=true | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host | FileCheck %s --check-prefix=HOST
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=table -convert-kernel-to-gpu=embed-tables=true | FileCheck %s --check-prefix=TABLE

// Symbols hold letters, digits and underscores, whatever a program is called, and
// those of different programs differ.

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}

// CHECK: gpu.module @ag.v2
// CHECK:   gpu.func @ag_x2Ev2_rank0(
// CHECK:   gpu.func @ag_x2Ev2_rank1(
// CHECK:   gpu.func @ag_x2Ev2_virtual(
// CHECK:   llvm.mlir.global internal @ag_x2Ev2_flags
// TABLE:   gpu.func @sccl_table(
// TABLE:   llvm.mlir.global external @ag_x2Ev2_table_rank0(
// TABLE:   llvm.mlir.global external @ag_x2Ev2_table_rank1(
// HOST-DAG: llvm.func @ag_x2Ev2_rank0(
// HOST-DAG: llvm.mlir.global internal @ag_x2Ev2_flags
coll.program @ag.v2 of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
  }
}

// CHECK: gpu.func @ag_x5Fx2Ev2_rank0(
// HOST-DAG: llvm.func @ag_x5Fx2Ev2_rank0(
coll.program @ag_x2Ev2 of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
  }
}

// CHECK: gpu.func @_x39x_x2Fy__x24_y_rank0(
// HOST-DAG: llvm.func @_x39x_x2Fy__x24_y_rank0(
coll.program @"9x/y_$_y" of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
  }
}

// CHECK: gpu.func @_xE6_x97_xA5_x5Fx_rank0(
// HOST-DAG: llvm.func @_xE6_x97_xA5_x5Fx_rank0(
coll.program @"\E6\97\A5_x" of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
  }
}
