// RUN: sccl-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: collk.program @p ranks = 2 chunks = 2 blocks = 1 slots = 12 {
collk.program @p ranks = 2 chunks = 2 blocks = 1 slots = 12 {
  // CHECK: collk.kernel @p_rank0 rank = 0 {
  collk.kernel @p_rank0 rank = 0 {
    // CHECK-NEXT: collk.channel 0 {
    // CHECK-NEXT: ^bb0(%[[BLOCK:.*]]: i32):
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      // CHECK: %[[PART:.*]] = collk.part %[[BLOCK]] of %c1_i32 chunks %c2_i32
      %part = collk.part %block of %c1 chunks %c2
      // CHECK-NEXT: %[[LAUNCH:.*]] = collk.begin %c0_i32 of %c1_i32 by %[[PART]]
      %launch = collk.begin %c0 of %c1 by %part
      // CHECK-NEXT: %[[INPUT:.*]] = collk.own  input
      %input = collk.own input
      // CHECK-NEXT: %[[FROM:.*]] = collk.slot %[[INPUT]][%c0_i32, %c1_i32] step %c2_i32, %c0_i32 : !collk.slot
      %from = collk.slot %input[%c0, %c1] step %c2, %c0 : !collk.slot
      // CHECK-NEXT: %[[SCRATCH:.*]] = collk.peer %c1_i32  scratch
      %scratch = collk.peer %c1 scratch
      // CHECK-NEXT: %[[TO:.*]] = collk.slot %[[SCRATCH]][%c0_i32, %c0_i32] odd %c3_i32 in %[[LAUNCH]] step %c0_i32, %c1_i32 : !collk.ll_slot
      %to = collk.slot %scratch[%c0, %c0] odd %c3 in %launch step %c0, %c1
          : !collk.ll_slot
      // CHECK-NEXT: collk.copy %[[FROM]] to %[[TO]] chunks %c1_i32 at %c1_i32 times %c3_i32 by %[[PART]] in %[[LAUNCH]] : !collk.slot to !collk.ll_slot
      collk.copy %from to %to chunks %c1 at %c1 times %c3 by %part in %launch
          : !collk.slot to !collk.ll_slot
      // CHECK-NEXT: collk.reduce %[[FROM]], %[[FROM]] to %[[FROM]] chunks %c1_i32 at %c0_i32 average %c2_i32 by %[[PART]] : !collk.slot, !collk.slot to !collk.slot
      collk.reduce %from, %from to %from chunks %c1 at %c0 average %c2 by %part
          : !collk.slot, !collk.slot to !collk.slot
      // CHECK-NEXT: collk.reduce %[[FROM]], %[[FROM]] to %[[FROM]] chunks %c1_i32 at %c0_i32 terms %c3_i32 average %c2_i32 by %[[PART]] : !collk.slot, !collk.slot to !collk.slot
      collk.reduce %from, %from to %from chunks %c1 at %c0 terms %c3 average %c2
          by %part : !collk.slot, !collk.slot to !collk.slot
      // CHECK-NEXT: collk.join by %[[PART]]
      collk.join by %part
      // CHECK-NEXT: %[[FLAG:.*]] = collk.flag %c1_i32[%c3_i32] per_launch %c1_i32 value %c1_i32
      %flag = collk.flag %c1[%c3] per_launch %c1 value %c1
      // CHECK-NEXT: collk.signal %[[FLAG]], %[[FLAG]] by %[[PART]] in %[[LAUNCH]] : !collk.flag, !collk.flag
      collk.signal %flag, %flag by %part in %launch : !collk.flag, !collk.flag
      // CHECK-NEXT: collk.wait %[[FLAG]] by %[[PART]] in %[[LAUNCH]] : !collk.flag
      collk.wait %flag by %part in %launch : !collk.flag
      // CHECK-NEXT: collk.end %[[LAUNCH]] at %c0_i32 by %[[PART]]
      collk.end %launch at %c0 by %part
    }
  }
}

// CHECK-LABEL: collk.program @all ranks = 1 chunks = 1 blocks = 1 slots = 1 host {
collk.program @all ranks = 1 chunks = 1 blocks = 1 slots = 1 host {
  // CHECK: collk.table rank = 0 step = 1 {
  collk.table rank = 0 step = 1 {
  }
  // CHECK: collk.kernel @sccl_table_step1 step = 1 {
  collk.kernel @sccl_table_step1 step = 1 {
    %c0 = arith.constant 0 : i32
    // CHECK: %[[INDEX:.*]] = collk.block_index
    %index = collk.block_index
    // CHECK-NEXT: %{{.*}}, %[[ONE:.*]], %[[TWO:.*]], %[[THREE:.*]] = collk.load %[[INDEX]]
    %unit:4 = collk.load %index
    // CHECK-NEXT: collk.buffer %[[ONE]]
    %buffer = collk.buffer %unit#1
    // CHECK-NEXT: collk.flags %[[TWO]] count %[[THREE]]
    %flags = collk.flags %unit#2 count %unit#3
  }
}

// CHECK-LABEL: collk.program @traced
collk.program @traced ranks = 2 chunks = 1 blocks = 1 slots = 3 host {
  collk.kernel @traced_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %part = collk.part %block of %c1 chunks %c1
      // CHECK: %[[LAUNCH:.*]] = collk.begin
      %launch = collk.begin %c0 of %c1 by %part
      // CHECK-NEXT: %[[FLAG:.*]] = collk.flag
      %flag = collk.flag %c0[%c0] per_launch %c1 value %c1
      // CHECK-NEXT: collk.mark wait channel 2 flag %[[FLAG]] in %[[LAUNCH]]
      collk.mark wait channel 2 flag %flag in %launch
      // CHECK-NEXT: collk.mark transfer channel 0 peer 1 pull chunks 3 at 1 times 2 in %[[LAUNCH]]
      collk.mark transfer channel 0 peer 1 pull chunks 3 at 1 times 2 in %launch
      // CHECK-NEXT: collk.mark end channel 0
      collk.mark end channel 0
    }
  }
}

// CHECK-LABEL: collk.program @traced_blocks
collk.program @traced_blocks ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @traced_blocks_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c1 = arith.constant 1 : i32
      // CHECK: %[[PART:.*]] = collk.part
      %part = collk.part %block of %c1 chunks %c1
      // CHECK-NEXT: collk.mark copy channel 0 chunks 1 at 0 times 1 line 2 place 0 by %[[PART]]
      collk.mark copy channel 0 chunks 1 at 0 times 1 line 2 place 0 by %part
      // CHECK-NEXT: collk.mark end channel 0 line 2 place 1 by %[[PART]]
      collk.mark end channel 0 line 2 place 1 by %part
    }
  }
}

// CHECK-LABEL: collk.program @switch
collk.program @switch ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @switch_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      // CHECK: %[[PART:.*]] = collk.part
      %part = collk.part %block of %c1 chunks %c1
      // CHECK-NEXT: %[[LAUNCH:.*]] = collk.begin
      %launch = collk.begin %c0 of %c1 by %part
      // CHECK-NEXT: %[[GROUP:.*]] = collk.peer %c2_i32 scratch
      %group = collk.peer %c2 scratch
      // CHECK-NEXT: %[[ALL:.*]] = collk.slot %[[GROUP]][%c0_i32, %c0_i32] odd %c1_i32 in %[[LAUNCH]] step %c0_i32, %c1_i32 : !collk.switch_slot
      %all = collk.slot %group[%c0, %c0] odd %c1 in %launch step %c0, %c1
          : !collk.switch_slot
      // CHECK-NEXT: %[[SCRATCH:.*]] = collk.own scratch
      %scratch = collk.own scratch
      // CHECK-NEXT: %[[OWN:.*]] = collk.slot %[[SCRATCH]]
      %own = collk.slot %scratch[%c0, %c1] : !collk.slot
      // CHECK-NEXT: collk.load_reduce %[[ALL]] to %[[OWN]] chunks %c1_i32 at %c0_i32 times %c2_i32 by %[[PART]] in %[[LAUNCH]]
      collk.load_reduce %all to %own chunks %c1 at %c0 times %c2 by %part
          in %launch
      // CHECK-NEXT: collk.load_reduce %[[ALL]] to %[[OWN]] chunks %c1_i32 at %c0_i32 by %[[PART]]{{$}}
      collk.load_reduce %all to %own chunks %c1 at %c0 by %part
      // CHECK-NEXT: collk.copy %[[OWN]] to %[[ALL]] chunks %c1_i32 at %c0_i32 by %[[PART]] : !collk.slot to !collk.switch_slot
      collk.copy %own to %all chunks %c1 at %c0 by %part
          : !collk.slot to !collk.switch_slot
    }
  }
}
