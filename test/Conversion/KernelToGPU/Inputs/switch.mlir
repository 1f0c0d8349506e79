// The all_reduce of two ranks behind one switch, which reduces and multicasts.
collk.program @sum ranks = 2 chunks = 2 blocks = 1 slots = 16 {
  // Rank 0: its vector to scratch 0 and 1, the sum of chunk 0 to scratch 2, and
  // from there to scratch 4 of both ranks.
  collk.kernel @sum_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      %c4 = arith.constant 4 : i32
      %c5 = arith.constant 5 : i32
      %word = arith.constant 128 : i32
      %part = collk.part %block of %c1 chunks %c2
      %launch = collk.begin %c0 of %c1 by %part
      %input = collk.own input
      %output = collk.own output
      %scratch = collk.own scratch
      %group = collk.peer %c2 scratch
      %own = collk.slot %input[%c0, %c0] : !collk.slot
      %staged = collk.slot %scratch[%c0, %c0] : !collk.slot
      collk.copy %own to %staged chunks %c2 at %c0 by %part in %launch
          : !collk.slot to !collk.slot
      %to = collk.flag %c1[%word] per_launch %c2 value %c1
      %from = collk.flag %c0[%word] per_launch %c2 value %c1
      collk.signal %to by %part in %launch : !collk.flag
      collk.wait %from by %part in %launch : !collk.flag
      %vectors = collk.slot %group[%c0, %c0] : !collk.switch_slot
      %sum = collk.slot %scratch[%c0, %c2] : !collk.slot
      collk.load_reduce %vectors to %sum chunks %c1 at %c0 by %part in %launch
      collk.join by %part
      %all = collk.slot %group[%c0, %c4] : !collk.switch_slot
      collk.copy %sum to %all chunks %c1 at %c0 by %part in %launch
          : !collk.slot to !collk.switch_slot
      %to2 = collk.flag %c1[%word] per_launch %c2 value %c2
      %from2 = collk.flag %c0[%word] per_launch %c2 value %c2
      collk.signal %to2 by %part in %launch : !collk.flag
      collk.wait %from2 by %part in %launch : !collk.flag
      %sums = collk.slot %scratch[%c0, %c4] : !collk.slot
      %result = collk.slot %output[%c0, %c0] : !collk.slot
      collk.copy %sums to %result chunks %c2 at %c0 by %part in %launch
          : !collk.slot to !collk.slot
      collk.end %launch at %c0 by %part
    }
  }
  // Rank 1: its vector to scratch 0 and 1, the sum of chunk 1 to scratch 3, and
  // from there to scratch 5 of both ranks.
  collk.kernel @sum_rank1 rank = 1 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      %c4 = arith.constant 4 : i32
      %c5 = arith.constant 5 : i32
      %word = arith.constant 128 : i32
      %part = collk.part %block of %c1 chunks %c2
      %launch = collk.begin %c0 of %c1 by %part
      %input = collk.own input
      %output = collk.own output
      %scratch = collk.own scratch
      %group = collk.peer %c2 scratch
      %own = collk.slot %input[%c0, %c0] : !collk.slot
      %staged = collk.slot %scratch[%c0, %c0] : !collk.slot
      collk.copy %own to %staged chunks %c2 at %c0 by %part in %launch
          : !collk.slot to !collk.slot
      %to = collk.flag %c0[%word] per_launch %c2 value %c1
      %from = collk.flag %c1[%word] per_launch %c2 value %c1
      collk.signal %to by %part in %launch : !collk.flag
      collk.wait %from by %part in %launch : !collk.flag
      %vectors = collk.slot %group[%c0, %c1] : !collk.switch_slot
      %sum = collk.slot %scratch[%c0, %c3] : !collk.slot
      collk.load_reduce %vectors to %sum chunks %c1 at %c1 by %part in %launch
      collk.join by %part
      %all = collk.slot %group[%c0, %c5] : !collk.switch_slot
      collk.copy %sum to %all chunks %c1 at %c1 by %part in %launch
          : !collk.slot to !collk.switch_slot
      %to2 = collk.flag %c0[%word] per_launch %c2 value %c2
      %from2 = collk.flag %c1[%word] per_launch %c2 value %c2
      collk.signal %to2 by %part in %launch : !collk.flag
      collk.wait %from2 by %part in %launch : !collk.flag
      %sums = collk.slot %scratch[%c0, %c4] : !collk.slot
      %result = collk.slot %output[%c0, %c0] : !collk.slot
      collk.copy %sums to %result chunks %c2 at %c0 by %part in %launch
          : !collk.slot to !collk.slot
      collk.end %launch at %c0 by %part
    }
  }
}
