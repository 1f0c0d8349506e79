// RUN: sccl-opt %s -coll-check-program -o %t.mlir
// RUN: sccl-opt %s -convert-coll-to-kernel | FileCheck %s --check-prefixes=CHECK,KERNEL
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=unrolled | FileCheck %s --check-prefixes=CHECK,KERNEL
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate | FileCheck %s --check-prefixes=CHECK,KERNEL
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=table | FileCheck %s --check-prefixes=CHECK,TABLE,ALL
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=table -collk-tabulate=code-shape=table | FileCheck %s --check-prefixes=CHECK,TABLE
// RUN: not sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=list 2>&1 | FileCheck %s --check-prefix=SHAPE

// SHAPE: {{.*}}unknown code shape 'list', expected auto, unrolled or table

// What a rank executes is the same ops, as code or as a table. A small program
// stays code unless tables are asked for.
// CHECK-LABEL: collk.program @mix ranks = 2 chunks = 2 blocks = 1
// KERNEL:      collk.kernel @mix_rank0 rank = 0 {
// TABLE:       collk.table rank = 0 {
// CHECK-NEXT:    collk.channel 0 {
// CHECK:           %[[PART:.*]] = collk.part
// CHECK:           %[[LAUNCH:.*]] = collk.begin %c0_i32 of %c1_i32{{.*}} by %[[PART]]
// Whose memory, byte offset, signals per launch, value. Flags of a rank have a
// line each, in the order in which they are waited for.
// CHECK:           %[[FLAG:.*]] = collk.flag %c0_i32{{.*}}[%c128_i32{{.*}}] per_launch %c2_i32{{.*}} value %c1_i32
// CHECK-NEXT:      collk.wait %[[FLAG]] by %[[PART]] in %[[LAUNCH]] : !collk.flag
// CHECK:           collk.own {{ *}}input
// CHECK:           %[[LHS:.*]] = collk.slot %{{.*}}[%c0_i32{{.*}}, %c1_i32{{.*}}] : !collk.slot
// CHECK:           collk.own {{ *}}scratch
// CHECK:           %[[RHS:.*]] = collk.slot %{{.*}}[%c0_i32{{.*}}, %c2_i32{{.*}}] odd %c3_i32 in %[[LAUNCH]] : !collk.slot
// CHECK:           collk.own {{ *}}output
// CHECK:           %[[DST:.*]] = collk.slot %{{.*}}[%c0_i32{{.*}}, %c1_i32{{.*}}] : !collk.slot
// CHECK:           collk.reduce %[[LHS]], %[[RHS]] to %[[DST]] chunks %c1_i32{{.*}} at %c1_i32{{.*}} average %c4325378_i32{{.*}} by %[[PART]] in %[[LAUNCH]]
// Signals that follow each other are one op.
// CHECK:           %[[FIRST:.*]] = collk.flag %c0_i32
// CHECK:           %[[SECOND:.*]] = collk.flag %c1_i32
// CHECK:           collk.signal %[[FIRST]], %[[SECOND]] by %[[PART]] in %[[LAUNCH]] : !collk.flag, !collk.flag
// CHECK:           collk.end %[[LAUNCH]]
// CHECK:         collk.channel 1 {
// CHECK:           collk.wait %{{.*}}, %{{.*}} by
// CHECK:           collk.peer %c1_i32{{.*}} {{ *}}output
// CHECK:           collk.copy
// CHECK:           collk.reduce {{.*}} at %c0_i32
// CHECK:           collk.signal
// CHECK:           collk.wait
// CHECK:           collk.end
// KERNEL:      collk.kernel @mix_rank1 rank = 1 {
// TABLE:       collk.table rank = 1 {
// CHECK:         collk.channel 0 {
// CHECK:           %[[BUFFER:.*]] = collk.peer %c0_i32{{.*}} {{ *}}scratch
// CHECK:           collk.slot %[[BUFFER]][%c0_i32{{.*}}, %c2_i32{{.*}}] odd %c3_i32
// KERNEL-NOT:  @sccl_table

// One kernel for all ranks: it finds its channel by the header of its table, and
// performs the rows of the channel, each as often as the row says.
// TABLE:       collk.kernel @sccl_table {
// ALL:           %[[CHUNKS:.*]], %[[MOST:.*]], %{{.*}}, %{{.*}} = collk.load %c0_i32
// ALL:           %[[INDEX:.*]] = collk.block_index
// ALL:           %[[BLOCKS:.*]] = collk.blocks
// ALL:           %[[CHANNEL:.*]] = arith.divui %[[INDEX]], %[[BLOCKS]]
// ALL:           %[[REST:.*]] = arith.remui %[[INDEX]], %[[BLOCKS]]
// ALL:           %{{.*}}, %{{.*}}, %[[EPOCH:.*]], %[[SPREAD:.*]] = collk.load
// ALL:           %[[BLOCK:.*]] = arith.addi %{{.*}}, %[[REST]]
// ALL:           arith.shrui %[[SPREAD]], %c8_i32
// ALL:           %[[PARTS:.*]] = arith.shli %c1_i32,
// ALL:           %[[MY:.*]] = collk.part %[[BLOCK]] of %[[PARTS]] doubled %{{.*}} chunks %[[CHUNKS]]
// ALL:           %[[WORDS:.*]] = arith.shli %[[MOST]],
// ALL:           %[[NOW:.*]] = collk.begin %[[EPOCH]] of %[[WORDS]] by %[[MY]]
// ALL:           scf.while
// ALL:             %[[KIND:.*]], %[[POSITION:.*]], %[[COUNT:.*]], %[[TIMES:.*]] = collk.load
// ALL:             arith.andi %[[KIND]], %c31_i32
// ALL:             scf.if
// ALL-COUNT-2:       collk.buffer
// ALL:               collk.reduce {{.*}} chunks %[[COUNT]] at %[[POSITION]] average
// ALL:               collk.copy {{.*}} chunks %[[COUNT]] at %[[POSITION]] by %[[MY]] in %[[NOW]]
// ALL:             } else {
// ALL:               %[[FLAGS:.*]] = collk.flags %[[POSITION]] count %[[COUNT]]
// ALL:               collk.signal %[[FLAGS]] by %[[MY]] in %[[NOW]] : !collk.flags
// ALL:               collk.wait %[[FLAGS]] by %[[MY]] in %[[NOW]] : !collk.flags
// ALL:           collk.end %[[NOW]] at %[[EPOCH]] by %[[MY]]

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
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
