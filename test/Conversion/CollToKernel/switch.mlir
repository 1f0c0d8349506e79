// RUN: sccl-opt %s -convert-coll-to-kernel | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel=host | FileCheck %s --check-prefix=HOST
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=table -convert-kernel-to-gpu | FileCheck %s --check-prefix=GPU
// RUN: sed 's/sum of all_reduce on @trio chunks = 3 blocks = 2/& double_buffered/; s/coll.rank 2 scratch = 7/coll.rank 2 scratch = 8/' %s > %t.mlir
// RUN: not sccl-opt %t.mlir -convert-coll-to-kernel 2>&1 | FileCheck %s --check-prefix=HALVES
// RUN: sed 's/of .0, 1, 2./of [0, 1]/; /to scratch.3. of 2/d' %s > %t.lone.mlir
// RUN: not sccl-opt %t.lone.mlir -convert-coll-to-kernel 2>&1 | FileCheck %s --check-prefix=LONE
// RUN: sed '/to scratch.3. of 2/d' %s > %t.part.mlir
// RUN: not sccl-opt %t.part.mlir -convert-coll-to-kernel 2>&1 | FileCheck %s --check-prefix=PART
// RUN: sccl-opt %t.part.mlir -convert-coll-to-kernel=host | FileCheck %s --check-prefix=PART-HOST
// PART: error: 'coll.multicast' op is for 2 of the 3 ranks of a group, and a switch reaches all of them
// PART-HOST: collk.copy
// LONE: error: 'coll.program' op goes through switches, but rank 2 is behind none

// Of three ranks behind one switch: what differs in the rank only is one access,
// at the place of the group, which is peer 3 of 3.
// CHECK-LABEL: collk.program @sum ranks = 3
// CHECK:       collk.kernel @sum_rank0 rank = 0 {
// CHECK:         %[[GROUP:.*]] = collk.peer %c3_i32{{.*}} scratch
// CHECK:         %[[ALL:.*]] = collk.slot %[[GROUP]][%c0_i32{{.*}}, %c0_i32{{.*}}] : !collk.switch_slot
// CHECK:         %[[SCRATCH:.*]] = collk.own scratch
// CHECK:         %[[SUM:.*]] = collk.slot %[[SCRATCH]][%c0_i32{{.*}}, %c6_i32{{.*}}] : !collk.slot
// CHECK:         collk.load_reduce %[[ALL]] to %[[SUM]] chunks %c1_i32{{.*}} at %c0_i32{{.*}} by
// The threads join: one multicasts what another has fetched.
// CHECK-NEXT:    collk.join by
// CHECK:         %[[FROM:.*]] = collk.slot %[[SCRATCH]][%c0_i32{{.*}}, %c6_i32{{.*}}] : !collk.slot
// CHECK:         %[[TO:.*]] = collk.slot %[[GROUP]][%c0_i32{{.*}}, %c3_i32{{.*}}] : !collk.switch_slot
// CHECK:         collk.copy %[[FROM]] to %[[TO]] chunks %c1_i32{{.*}} at %c0_i32{{.*}} by {{.*}} : !collk.slot to !collk.switch_slot
// CHECK-NOT:     collk.copy
// CHECK:         collk.signal
// CHECK:         collk.wait
// CHECK:         collk.copy {{.*}} : !collk.slot to !collk.slot

// One after the other on a host.
// HOST-LABEL:   collk.kernel @sum_rank0 rank = 0 {
// HOST-NOT:     switch_slot
// HOST-COUNT-2: collk.reduce
// HOST-COUNT-3: collk.copy
// HOST:         collk.signal

// GPU-LABEL:    gpu.func @sccl_table(
// GPU-DAG:      llvm.call @coll_reduce_switch(
// GPU-DAG:      llvm.call @coll_transfer_switch(

// The half of scratch that a launch uses begins where the other one ends.
// HALVES: error: 'coll.load_reduce' op is for a switch, which does not reach the slots of rank 2 at the place in plain scratch of this one

coll.topology @trio ranks = 3 {
  coll.link 0 -> 1 unlimited
}
coll.program @sum of all_reduce on @trio chunks = 3 blocks = 2 {
  coll.rank 0 scratch = 7 {
    coll.channel to 0 {
      coll.load_reduce chunk 0 from scratch[0] of [0, 1, 2] to scratch[6] step = 0 final
      coll.multicast chunk 0 from scratch[6] to scratch[3] of 0 step = 1
      coll.multicast chunk 0 from scratch[6] to scratch[3] of 1 step = 1
      coll.multicast chunk 0 from scratch[6] to scratch[3] of 2 step = 1
      coll.signal arrival to 1 value = 1
      coll.wait arrival from 1 channel = 1 value = 1
      coll.copy chunk 0 from scratch[3] to output[0] step = 1
    }
  }
  coll.rank 1 scratch = 7 {
    coll.channel to 1 {
      coll.signal arrival to 0 value = 1
      coll.wait arrival from 0 channel = 0 value = 1
    }
  }
  coll.rank 2 scratch = 7 {
  }
}
