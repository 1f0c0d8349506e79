// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=target=rocdl | FileCheck %s --check-prefixes=CHECK,ROCDL
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=target=nvvm | FileCheck %s --check-prefix=NVVM
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=block-size=128 | FileCheck %s --check-prefix=SMALL
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu | FileCheck %s --check-prefix=NONE

// Nothing of the coll dialect is left, and no flag is a read-modify-write.
// NONE-NOT: coll.{{[a-z]+ }}
// NONE-NOT: atomicrmw
// NONE-NOT: cmpxchg

coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 bandwidth = 1
}

// CHECK: module attributes {gpu.container_module} {
// CHECK: gpu.module @sum {

// 16 bytes at a time: eight loads before the first store.
// CHECK-LABEL: llvm.func internal @coll_copy
// CHECK-SAME:    attributes {no_inline}
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<4xi32>
// CHECK-NOT:     llvm.load
// CHECK-COUNT-8: llvm.store {{.*}} : vector<4xi32>
// SMALL-LABEL: llvm.func internal @coll_copy
// SMALL:         llvm.getelementptr {{.*}}[2048]

// Combining wide loads in the element type.
// CHECK-LABEL: llvm.func internal @coll_reduce_elements
// CHECK:         arith.addf {{.*}} : vector<4xf32>
// CHECK:         arith.addf {{.*}} : f32

// A signal: each thread reads a row of the table of flags; on AMD every thread
// fences and waits; then all meet, and those that have a flag store it.
// CHECK-LABEL: llvm.func hidden @coll_signal
// CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: !llvm.ptr<1>, %[[COUNT:[a-z0-9]+]]: i32, %[[PEERS:[a-z0-9]+]]: !llvm.ptr<1>, %[[BLOCK:[a-z0-9]+]]: i32, %[[LAUNCH:[a-z0-9]+]]: i64) attributes {no_inline}
// CHECK:         %[[MINE:.*]] = arith.cmpi ult, %{{.*}}, %[[COUNT]] : i32
// CHECK:         arith.minui
// CHECK:         llvm.getelementptr %[[ROWS]]
// CHECK:        llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK:         %[[BEFORE:.*]] = arith.muli %[[LAUNCH]],
// CHECK-NEXT:    %[[VALUE:.*]] = arith.addi %[[BEFORE]],
// CHECK:         llvm.getelementptr %[[PEERS]]
// ROCDL:         llvm.fence release
// ROCDL-NEXT:    rocdl.s.waitcnt 3952
// CHECK:         gpu.barrier
// CHECK-NEXT:    scf.if %[[MINE]] {
// CHECK-NEXT:      llvm.store %[[VALUE]], %{{.*}} atomic release {alignment = 8 : i64} : i64
// CHECK-NEXT:    }
// CHECK-NEXT:    llvm.return
// NVVM-LABEL:  llvm.func hidden @coll_signal
// NVVM-NOT:      llvm.fence
// NVVM-NOT:      rocdl
// NVVM:          gpu.barrier
// NVVM-NOT:      llvm.fence
// NVVM:          atomic release

// A wait: a thread for each flag polls, the last ones first, as the first may still be
// signalling; then all meet.
// CHECK-LABEL: llvm.func hidden @coll_wait
// CHECK-SAME:    %{{[a-z0-9]+}}: !llvm.ptr<1>, %[[COUNT:[a-z0-9]+]]: i32
// CHECK:         %[[THREAD:.*]] = arith.subi %c255_i32, %{{.*}} : i32
// CHECK:         %[[MINE:.*]] = arith.cmpi ult, %[[THREAD]], %[[COUNT]] : i32
// CHECK:         scf.if %[[MINE]] {
// CHECK:          llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK:           scf.while
// CHECK:             %[[NOW:.*]] = llvm.load {{.*}} atomic acquire {alignment = 8 : i64}
// CHECK-NEXT:        arith.cmpi ult, %[[NOW]],
// The abort word is in memory of the host: few polls look at it.
// CHECK:             arith.andi {{.*}}, %c8191_i64
// CHECK:             llvm.load {{.*}} atomic monotonic {alignment = 8 : i64}
// CHECK:         gpu.barrier
// CHECK-NEXT:    llvm.return

// One kernel per rank, one block per channel; each op is one call.
// CHECK-LABEL: gpu.func @sum_rank0(
// CHECK-SAME:    %[[INPUT:[a-z0-9]+]]: !llvm.ptr<1>, %[[OUTPUT:[a-z0-9]+]]: !llvm.ptr<1>, %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr<1>, %[[CONTROL:[a-z0-9]+]]: !llvm.ptr<1>, %[[PEERS:[a-z0-9]+]]: !llvm.ptr<1>, %[[ABORT:[a-z0-9]+]]: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64, %{{.*}}: i64) kernel
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK:         scf.index_switch
// CHECK:         case 0 {
// CHECK:           %[[LAUNCH:.*]] = llvm.call @coll_begin
// CHECK:           %[[FLAGS:.*]] = llvm.mlir.addressof @sum_flags
// CHECK:           %[[READY:.*]] = llvm.getelementptr %[[FLAGS]][%c0_i64]
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:      llvm.call @coll_signal(%[[READY]], %[[ONE]], %[[PEERS]], %{{.*}}, %[[LAUNCH]])
// CHECK:           %[[ARRIVAL:.*]] = llvm.getelementptr {{.*}}[%c16_i64]
// CHECK:           llvm.call @coll_wait(%[[ARRIVAL]], {{.*}}, %[[CONTROL]], %{{.*}}, %[[LAUNCH]], %[[ABORT]])
// CHECK:           llvm.call @coll_reduce(%[[OUTPUT]], {{.*}}%[[INPUT]], {{.*}}%[[SCRATCH]],
// CHECK:           llvm.call @coll_end
// CHECK-NEXT:      scf.yield
// CHECK:         default {
// SMALL-LABEL: gpu.func @sum_rank0
// SMALL-SAME:    known_block_size = array<i32: 128, 1, 1>

// CHECK-LABEL: gpu.func @sum_rank1(
// CHECK-SAME:    known_grid_size = array<i32: 2, 1, 1>
// CHECK:         case 0 {
// CHECK:           llvm.call @coll_begin
// CHECK:           llvm.call @coll_wait
// CHECK:           llvm.call @coll_transfer
// CHECK:           llvm.call @coll_signal
// CHECK:           llvm.call @coll_end
// CHECK:         case 1 {
// CHECK:           llvm.call @coll_begin
// CHECK-NOT:       llvm.call
// CHECK:           llvm.call @coll_end

// Rows of the table of flags: whose memory, byte offset there, signals per launch,
// value. Both flags are the first of their owner, behind its epoch words.
// CHECK: llvm.mlir.global internal @sum_flags(dense<[1, 128, 1, 1, 0, 128, 1, 1]> : tensor<8xi32>) {addr_space = 1 : i32, alignment = 16 : i64}
coll.program @sum of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
    }
  }
}

// A second program is a module of its own. It needs no combining helpers, and
// launches say how many blocks each channel has, up to four: how large the grid is
// nobody knows.
// CHECK: gpu.module @bc {
// CHECK-NOT: @coll_reduce
// CHECK-NOT: @coll_reduce_elements
// CHECK-NOT:   known_grid_size
// CHECK-LABEL: gpu.func @bc_rank1(
// CHECK-SAME:    %{{[a-z0-9]+}}: i64, %[[COUNT:[a-z0-9]+]]: i64) kernel
// CHECK:         %[[BLOCKS:.*]] = arith.trunci %[[COUNT]]
// CHECK:         arith.divui %{{.*}}, %[[BLOCKS]]
// CHECK:         scf.index_switch
// CHECK:         case 1 {
// CHECK:           %[[BLOCK:.*]] = arith.subi %{{.*}}, %[[BLOCKS]]
// CHECK:           %[[PARTS:.*]] = arith.trunci %[[COUNT]]
// CHECK:           llvm.call @coll_begin(%{{.*}}, %{{.*}}, %[[BLOCK]], %[[PARTS]], %c4_i32
coll.program @bc of broadcast on @pair chunks = 1 root = 1 blocks = 4 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
}
