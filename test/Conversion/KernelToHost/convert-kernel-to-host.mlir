// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host | FileCheck %s --check-prefix=NONE

// NONE-NOT: coll.{{[a-z]+ }}
// NONE-NOT: gpu.

coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}

// CHECK-LABEL: llvm.func @bc_rank0(
// CHECK-SAME:    %[[INPUT:[a-z0-9]+]]: !llvm.ptr, %[[OUTPUT:[a-z0-9]+]]: !llvm.ptr,
// CHECK:         llvm.call @coll_begin
// CHECK:         llvm.call @coll_transfer(%[[OUTPUT]], {{.*}}%[[INPUT]],
// CHECK:         llvm.call @coll_wait
// CHECK:         llvm.call @coll_transfer
// CHECK:         llvm.call @coll_signal
// CHECK:         llvm.call @coll_end
// CHECK-NEXT:    llvm.return

// The channels of rank 1 become one sequence that can run: its ready signal to
// rank 0 comes first, although the channel to rank 2 is written first. Waits that
// follow each other are one call, and a flag that the thread has seen is not polled
// again.
// CHECK-LABEL: llvm.func @bc_rank1
// CHECK:         llvm.call @coll_begin
// CHECK-NOT:     llvm.call @coll_wait
// CHECK:         llvm.call @coll_signal
// CHECK:         %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    llvm.call @coll_wait(%{{.*}}, %[[TWO]],
// CHECK-NOT:     llvm.call @coll_wait
// CHECK:         llvm.call @coll_transfer
// CHECK:         llvm.call @coll_signal
// CHECK-NOT:     llvm.call @coll_wait
// CHECK:         llvm.call @coll_end
// CHECK-LABEL: llvm.func @bc_rank2

// CHECK:       llvm.mlir.global internal @bc_flags
// CHECK-NOT:   @bc_code
// CHECK-LABEL: llvm.func internal @coll_copy
// CHECK:         "llvm.intr.memcpy"
// CHECK-NOT:   @coll_reduce_elements
// CHECK-LABEL: llvm.func internal @coll_signal
// CHECK:         scf.for
// CHECK:           llvm.load {{.*}} -> vector<4xi32>
// CHECK:           llvm.store {{.*}} atomic release {alignment = 8 : i64} : i64
// CHECK-LABEL: llvm.func internal @coll_wait
// CHECK:         scf.for
// CHECK:         scf.while
// CHECK:           llvm.load {{.*}} atomic acquire {alignment = 8 : i64}
// CHECK:           llvm.call @sched_yield
// CHECK-NOT:   @coll_execute
coll.program @bc of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.wait arrival from 0 value = 1
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 2 value = 1
    }
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
}
