// RUN: sccl-opt %s -split-input-file -verify-diagnostics

// Slots at a switch, and what goes through it.

// peer_c1
collk.program @peer_c1_a ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @peer_c1_a_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c3 = arith.constant 3 : i32
      // expected-error @+1 {{'collk.peer' op is of rank 3, but the program has 2}}
      %buffer = collk.peer %c3 scratch
    }
  }
}

// -----

// peer_c1
collk.program @peer_c1_b ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @peer_c1_b_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c2 = arith.constant 2 : i32
      // expected-error @+1 {{'collk.peer' op is of a group at its switch, where only scratch is}}
      %buffer = collk.peer %c2 output
    }
  }
}

// -----

// slot_c2
collk.program @slot_c2_a ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @slot_c2_a_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c2 = arith.constant 2 : i32
      %group = collk.peer %c2 scratch
      // expected-error @+1 {{'collk.slot' op is at a switch, but no switch slot}}
      %slot = collk.slot %group[%c0, %c0] : !collk.slot
    }
  }
}

// -----

// slot_c2
collk.program @slot_c2_b ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @slot_c2_b_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %scratch = collk.peer %c1 scratch
      // expected-error @+1 {{'collk.slot' op is a switch slot, but in memory of one rank}}
      %slot = collk.slot %scratch[%c0, %c0] : !collk.switch_slot
    }
  }
}

// -----

// slot_c2
collk.program @slot_c2_c ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @slot_c2_c_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %scratch = collk.own scratch
      // expected-error @+1 {{'collk.slot' op is a switch slot, but in memory of one rank}}
      %slot = collk.slot %scratch[%c0, %c0] : !collk.switch_slot
    }
  }
}

// -----

// copy_c1
collk.program @copy_c1_a ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @copy_c1_a_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %part = collk.part %block of %c1 chunks %c1
      %input = collk.own input
      %group = collk.peer %c2 scratch
      %from = collk.slot %input[%c0, %c0] : !collk.slot
      %to = collk.slot %group[%c0, %c0] : !collk.switch_slot
      // expected-error @+1 {{'collk.copy' op is to a switch, but not from plain scratch of the rank}}
      collk.copy %from to %to chunks %c1 at %c0 by %part : !collk.slot to !collk.switch_slot
    }
  }
}

// -----

// copy_c1
collk.program @copy_c1_b ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @copy_c1_b_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %part = collk.part %block of %c1 chunks %c1
      %launch = collk.begin %c0 of %c1 by %part
      %scratch = collk.own scratch
      %group = collk.peer %c2 scratch
      %from = collk.slot %scratch[%c0, %c0] : !collk.ll_slot
      %to = collk.slot %group[%c0, %c0] : !collk.switch_slot
      // expected-error @+1 {{'collk.copy' op is to a switch, but not from plain scratch of the rank}}
      collk.copy %from to %to chunks %c1 at %c0 by %part in %launch : !collk.ll_slot to !collk.switch_slot
    }
  }
}

// -----

// copy_c1
collk.program @copy_c1_c ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @copy_c1_c_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %part = collk.part %block of %c1 chunks %c1
      %group = collk.peer %c2 scratch
      %slot = collk.slot %group[%c0, %c0] : !collk.switch_slot
      // expected-error @+1 {{'collk.copy' op operand #0 must be where chunks in plain memory begin}}
      collk.copy %slot to %slot chunks %c1 at %c0 by %part : !collk.switch_slot to !collk.switch_slot
    }
  }
}

// -----

// load_reduce_c1
collk.program @load_reduce_c1_a ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @load_reduce_c1_a_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %part = collk.part %block of %c1 chunks %c1
      %output = collk.own output
      %group = collk.peer %c2 scratch
      %from = collk.slot %group[%c0, %c0] : !collk.switch_slot
      %to = collk.slot %output[%c0, %c0] : !collk.slot
      // expected-error @+1 {{'collk.load_reduce' op is from a switch, but not to scratch of the rank}}
      collk.load_reduce %from to %to chunks %c1 at %c0 by %part
    }
  }
}

// -----

// load_reduce_c1
collk.program @load_reduce_c1_b ranks = 2 chunks = 1 blocks = 1 slots = 6 {
  collk.kernel @load_reduce_c1_b_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %part = collk.part %block of %c1 chunks %c1
      %scratch = collk.peer %c1 scratch
      %group = collk.peer %c2 scratch
      %from = collk.slot %group[%c0, %c0] : !collk.switch_slot
      %to = collk.slot %scratch[%c0, %c0] : !collk.slot
      // expected-error @+1 {{'collk.load_reduce' op is from a switch, but not to scratch of the rank}}
      collk.load_reduce %from to %to chunks %c1 at %c0 by %part
    }
  }
}
