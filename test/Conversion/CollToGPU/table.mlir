// RUN: sccl-opt %s -coll-check-program -o %t.mlir
// RUN: sccl-opt %s -convert-coll-to-gpu=code-shape=table -mlir-print-elementsattrs-with-hex-if-larger=-1 | FileCheck %s --check-prefixes=CHECK,NVVM
// RUN: sccl-opt %s -convert-coll-to-gpu="code-shape=table target=rocdl" -mlir-print-elementsattrs-with-hex-if-larger=-1 | FileCheck %s --check-prefixes=CHECK,ROCDL
// RUN: sccl-opt %s -convert-coll-to-gpu | FileCheck %s --check-prefix=UNROLLED
// RUN: sccl-opt %s -convert-coll-to-gpu=code-shape=unrolled | FileCheck %s --check-prefix=UNROLLED
// RUN: not sccl-opt %s -convert-coll-to-gpu=code-shape=list 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not sccl-opt %s -convert-coll-to-host=code-shape=list 2>&1 | FileCheck %s --check-prefix=SHAPE

// Code as a table. A small program is unrolled unless asked for.
// SHAPE: option: unknown code shape 'list', expected auto, unrolled or table
// UNROLLED-NOT: @coll_execute
// UNROLLED-NOT: @mix_code

// What reads the table: not internal, so that its arguments stay arguments. What
// decides where a block goes on is uniform, which on AMD has to be said.
// CHECK-LABEL: llvm.func hidden @coll_execute(
// CHECK-SAME:    %[[CODE:[a-z0-9]+]]: !llvm.ptr<1>, %[[COUNT:[a-z0-9]+]]: i32,
// CHECK-SAME:    attributes {no_inline}
// CHECK:         %[[ODD:.*]] = arith.andi
// NVVM:          %[[ROWS:.*]] = llvm.freeze %[[COUNT]] : i32
// ROCDL:         %[[ROWS:.*]] = rocdl.readfirstlane %[[COUNT]] : i32
// CHECK:         scf.for %{{.*}} to %[[ROWS]]
// CHECK:           %[[WORD:.*]] = llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// NVVM-NEXT:       %[[OPCODE:.*]] = llvm.freeze %[[WORD]]
// ROCDL-NEXT:      %[[OPCODE:.*]] = rocdl.readfirstlane %[[WORD]]
// CHECK-NEXT:      %[[MOVES:.*]] = arith.cmpi ult, %[[OPCODE]],
// CHECK-NEXT:      scf.if %[[MOVES]] {
// CHECK:             arith.muli %[[ODD]],
// CHECK:             llvm.call @coll_buffer(
// CHECK:             llvm.call @coll_reduce(
// CHECK:             llvm.call @coll_transfer(
// CHECK:           } else {
// CHECK:             llvm.call @coll_signal(
// CHECK:             llvm.call @coll_wait(
// CHECK:         llvm.return
// CHECK-LABEL: llvm.func internal @coll_buffer(

// A channel is one call: its first row, and how many there are.
// CHECK-LABEL: gpu.func @mix_rank0(
// CHECK:         case 0 {
// CHECK:           %[[LAUNCH:.*]] = llvm.call @coll_begin
// CHECK-NEXT:      llvm.mlir.addressof @mix_code
// CHECK:           %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%c0_i64]
// CHECK-NEXT:      %[[THREE:.*]] = arith.constant 3 : i32
// CHECK-NEXT:      llvm.mlir.addressof @mix_flags
// CHECK:           llvm.call @coll_execute(%[[FIRST]], %[[THREE]], {{.*}}, %[[LAUNCH]])
// CHECK-NEXT:      llvm.call @coll_end
// CHECK:         case 1 {
// CHECK:           %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%c192_i64]
// CHECK-NEXT:      %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK:           llvm.call @coll_execute(%[[FIRST]], %[[FIVE]],
// CHECK-LABEL: gpu.func @mix_rank1(
// CHECK:           llvm.getelementptr %{{.*}}[%c512_i64]

// The rows of the flags, by use: whose memory, byte offset, signals per launch,
// value. Flags of a rank have a line each, in the order in which they are waited
// for. The tables are not constant: LLVM would read them through other caches.
// CHECK:      llvm.mlir.global internal @mix_flags(dense<[
// CHECK-SAME: 0, 128, 2, 1,
// CHECK-SAME: 0, 384, 1, 1, 1, 256, 1, 1,
// CHECK-SAME: 0, 256, 1, 1, 0, 384, 1, 1,
// CHECK-SAME: 1, 128, 1, 1,
// CHECK-SAME: 0, 128, 2, 2,
// CHECK-SAME: 0, 128, 2, 1,
// CHECK-SAME: 1, 128, 1, 1,
// CHECK-SAME: 0, 128, 2, 2,
// CHECK-SAME: 0, 256, 1, 1,
// CHECK-SAME: 1, 128, 1, 1]> : tensor<48xi32>) {addr_space = 1 : i32, alignment = 16 : i64}

// The rows of the code: what to do, then destination and sources, each as buffer,
// segment, chunk, and chunks to add in odd launches; position and count of chunks.
// Buffers below 0 are the rank's own: -1 input, -2 output, -3 scratch.
// CHECK:      llvm.mlir.global internal @mix_code(dense<[
// Rank 0, local channel: one wait; combine; two signals.
// CHECK-SAME: 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 1, -2, 0, 1, 0, -1, 0, 1, 0, -3, 0, 2, 3, 1, 1, 0,
// CHECK-SAME: 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// To rank 1: two waits; put to entry 1 * 4 + 1, the output of rank 1; get_reduce
// with entry 1 * 4 + 0, its input; signal, wait.
// CHECK-SAME: 3, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 0, 5, 0, 1, 0, -2, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0,
// CHECK-SAME: 1, -2, 0, 0, 0, -1, 0, 0, 0, 4, 0, 0, 0, 0, 1, 0,
// CHECK-SAME: 2, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 3, 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// Rank 1, to rank 0: put to entry 2, its scratch, of which there are two halves of
// three slots; signal; wait; get; signal.
// CHECK-SAME: 0, 2, 0, 2, 3, -1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0,
// CHECK-SAME: 2, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 3, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 0, -2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
// CHECK-SAME: 2, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// Its local channel: signal; wait.
// CHECK-SAME: 2, 10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 3, 11, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]> : tensor<240xi32>)

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1
  coll.link 1 -> 0
}
coll.program @mix of all_reduce on @pair chunks = 2 blocks = 1 double_buffered {
  coll.rank 0 scratch = 3 {
    coll.channel to 0 {
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 1 from input[1], scratch[2] to output[1] step = 1 final
      coll.signal arrival to 0 value = 1
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.wait arrival from 0 value = 1
      coll.put chunk 1 from output[1] to output[1] step = 2
      coll.get_reduce chunk 0 from input[0], input[0] to output[0] step = 2 final
      coll.signal arrival to 1 value = 1
      coll.wait arrival from 1 value = 2
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 1 from input[1] to scratch[2] step = 0
      coll.signal arrival to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.get chunk 0 from output[0] to output[0] step = 3
      coll.signal arrival to 0 value = 2
    }
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
}
