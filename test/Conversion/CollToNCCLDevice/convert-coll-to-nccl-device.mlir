// RUN: sccl-opt %s -sccl-to-nccl-device=ranks-per-box=2 | FileCheck %s
// RUN: sccl-opt %s -sccl-to-nccl-device=ranks-per-box=2 | FileCheck %s --check-prefix=NONE
// RUN: sccl-opt %s -sccl-to-nccl-device | FileCheck %s --check-prefix=ONE
// RUN: sccl-opt %s -sccl-lower -convert-coll-to-nccl-device | FileCheck %s --check-prefix=ONE
// RUN: sccl-opt %s -sccl-to-nccl-device="ranks-per-box=2 block-size=64 blocks-per-link=2" | FileCheck %s --check-prefix=BLOCKS

// Two boxes of two ranks. Rank 1 passes on to rank 2 what comes from rank 0, and rank 2
// to rank 3.

// NONE-NOT: coll.
// NONE-NOT: collk.
// NONE-NOT: gpu.barrier

// In one box all is as it always was.
// ONE-NOT: ncclGin
// ONE-NOT: coll_gin

coll.topology @line ranks = 4 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 3 bandwidth = 1
}
coll.schedule @bc of broadcast on @line chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
  coll.step rounds = 1 {
    coll.send 0 over 2 -> 3
  }
}

// The vendor's functions, as clang declares them for NVPTX.
// CHECK-DAG: llvm.func @ncclGetPeerPointer(!llvm.ptr, i64, i32) -> !llvm.ptr
// CHECK-DAG: llvm.func @ncclGin_C_init(!llvm.ptr, i32, !llvm.ptr, i32)
// CHECK-DAG: llvm.func @ncclGinPut(!llvm.ptr, !llvm.ptr {llvm.align = 4 : i64, llvm.byval = !llvm.struct<(i32, i32, i32)>}, i32, !llvm.ptr, i64, !llvm.ptr, i64, i64, i1 {llvm.zeroext}, i32, i32, i64, i1 {llvm.zeroext}, i32, !llvm.ptr {llvm.align = 8 : i64, llvm.byval = !llvm.struct<(array<16 x i8>, ptr)>}, i1 {llvm.zeroext}, !llvm.ptr, i32, i32)
// CHECK-DAG: llvm.func @ncclGinReadSignal(!llvm.ptr, i32, i32, i32) -> i64

// A put: all threads are done with the memory, then one fences and hands it over.
// CHECK-LABEL: llvm.func internal @coll_gin_put
// CHECK:         nvvm.barrier
// CHECK:         llvm.cond_br
// CHECK:         llvm.fence release
// CHECK:         llvm.call @ncclCoopAnyInitThread
// CHECK:         llvm.call @ncclGin_C_init
// CHECK:         llvm.call @ncclGinPut

// A signal: the same, with a thread for each.
// CHECK-LABEL: llvm.func internal @coll_gin_signal
// CHECK:         nvvm.barrier
// CHECK:         llvm.fence release
// CHECK:         llvm.call @ncclGinSignal

// A wait polls, and looks at the abort word now and then.
// CHECK-LABEL: llvm.func internal @coll_gin_wait
// CHECK:         %[[NOW:.*]] = llvm.call @ncclGinReadSignal
// CHECK:         llvm.icmp "ult" %[[NOW]],
// CHECK:         llvm.load {{.*}} atomic monotonic
// CHECK:         nvvm.barrier

// Rank 1 waits for rank 0, by a flag, and until rank 2 has begun, by a signal; then it
// puts, signals, and does not return before its memory has been read.
// CHECK-LABEL: llvm.func @bc_rank1(
// CHECK-SAME:      %[[NET:[a-z0-9]+]]: !llvm.ptr<1>) attributes
// CHECK:         llvm.call @coll_wait(
// CHECK:         llvm.call @coll_gin_wait({{.*}}, %[[NET]],
// CHECK:         llvm.call @coll_put({{.*}}, %[[NET]],
// CHECK:         llvm.call @coll_gin_signal({{.*}}, %[[NET]],
// CHECK-NEXT:    llvm.call @coll_gin_flush(%[[NET]],
// CHECK-NEXT:    llvm.call @coll_end

// Rank 2 is told by a signal, and stores to rank 3 as within any box.
// CHECK-LABEL: llvm.func @bc_rank2(
// CHECK:         llvm.call @coll_gin_wait
// CHECK:         llvm.call @coll_transfer
// CHECK:         llvm.call @coll_signal
// CHECK-NOT:     llvm.call @coll_put
// CHECK-LABEL: llvm.func @bc_rank3(
// CHECK-NOT:     coll_gin

// CHECK-LABEL: llvm.func @bc_nccl_peers(
// CHECK-COUNT-4: llvm.call @ncclGetPeerPointer
// CHECK-LABEL: llvm.func @bc_nccl_barrier(
// CHECK:         llvm.call @ncclLsaBarrierSessionInit
// CHECK:         llvm.call @ncclLsaBarrierSessionSync

// 4 ranks in boxes of 2, a chunk a segment, 256 threads, 1 signal, contexts for 2 blocks;
// then for each rank blocks, slots of the input, the output and scratch, and bytes of
// control memory.
// CHECK:       llvm.mlir.global external @bc_nccl(dense<[1, 4, 2, 1, 256, 1, 2, 0,
// BLOCKS:      llvm.mlir.global external @bc_nccl(dense<[1, 4, 2, 1, 64, 2, 4, 0,
