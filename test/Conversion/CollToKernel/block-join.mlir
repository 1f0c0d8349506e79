// RUN: sccl-opt %s -coll-check-program -o %t.mlir
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu | FileCheck %s

// The threads of a block join before one of them accesses what another may have
// written: by a wait for no flags. What a thread handles depends on the alignment
// of the buffers, so the same bytes may be another thread's in the next transfer.
coll.topology @alone ranks = 1 {
}
coll.collective @fold ranks = 1 chunks = 1 distinct = 3 {
  coll.pre 0 has [0, 1, 2]
  coll.post 0 has [0, 1, 2]
}

// CHECK-LABEL: gpu.func @joined_rank0(
// CHECK:         llvm.call @coll_begin
coll.program @joined of @fold on @alone chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 2 {
    coll.channel to 0 {
      // Apart from each other.
      // CHECK-NOT:  @coll_wait
      // CHECK:      llvm.call @coll_transfer
      // CHECK-NOT:  @coll_wait
      // CHECK:      llvm.call @coll_transfer
      coll.copy chunk 0 from input[0] to scratch[0] step = 0
      coll.copy chunk 1 from input[1] to scratch[1] step = 0
      // Reads what was written.
      // CHECK:      llvm.call @coll_wait
      // CHECK:      llvm.call @coll_transfer
      coll.copy chunk 0 from scratch[0] to output[0] step = 1
      // CHECK-NOT:  @coll_wait
      // CHECK:      llvm.call @coll_transfer
      coll.copy chunk 1 from scratch[1] to output[1] step = 1
      // Writes what was read.
      // CHECK:      llvm.call @coll_wait
      // CHECK:      llvm.call @coll_transfer
      coll.copy chunk 2 from input[2] to scratch[1] step = 2
      // CHECK:      llvm.call @coll_wait
      // CHECK:      llvm.call @coll_transfer
      // CHECK-NOT:  @coll_wait
      // CHECK:      llvm.call @coll_end
      coll.copy chunk 2 from scratch[1] to output[2] step = 3
    }
  }
}
