// RUN: sccl-opt %s -convert-kernel-to-gpu=embed-tables | FileCheck %s

// A channel without a part does nothing; its table has an entry all the same.
// CHECK: llvm.mlir.global external @alone_table_rank0(
collk.program @alone ranks = 1 chunks = 1 blocks = 1 slots = 2 {
  collk.table rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
    }
  }
  collk.kernel @sccl_table {
  }
}
