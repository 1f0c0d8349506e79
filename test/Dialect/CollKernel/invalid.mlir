// RUN: sccl-opt %s -split-input-file -verify-diagnostics

// program_c1
collk.program @program_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  // expected-error @+1 {{'arith.constant' op is neither a kernel nor a table}}
  %c0 = arith.constant 0 : i32
}

// -----

// program_c2
collk.program @program_c2_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  // expected-error @+1 {{'collk.kernel' op is for rank 1, but the program has 1}}
  collk.kernel @p_rank1 rank = 1 {
  }
}

// -----

// program_c2
collk.program @program_c2_b ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  // expected-error @+1 {{'collk.table' op is for rank 2, but the program has 1}}
  collk.table rank = 2 {
  }
}

// -----

// program_c3
// expected-error @+1 {{'collk.program' op has 2 blocks per channel, but one thread per rank on a host}}
collk.program @program_c3_a ranks = 1 chunks = 1 blocks = 2 slots = 1 host {
}

// -----

// kernel_c1
collk.program @kernel_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p_rank0 rank = 0 {
    // expected-error @+1 {{'arith.constant' op is not in a channel}}
    %c0 = arith.constant 0 : i32
  }
}

// -----

// table_c1
collk.program @table_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.table rank = 0 {
    // expected-error @+1 {{'collk.channel' op has number 1, expected 0}}
    collk.channel 1 {
    ^bb0(%block: i32):
    }
  }
}

// -----

// table_c2
collk.program @table_c2_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.table rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      // expected-error @+1 {{'collk.flag' op has an operand that is no constant, in a table}}
      %flag = collk.flag %block[%block] per_launch %block value %block
    }
  }
}

// -----

// channel_c1
collk.program @channel_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p_rank0 rank = 0 {
    // expected-error @+1 {{'collk.channel' op has a body whose only argument is not an i32}}
    collk.channel 0 {
    ^bb0(%block: i64):
    }
  }
}

// -----

// table_c2
collk.program @table_c2_part ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.table rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c1 = arith.constant 1 : i32
      // expected-error @+1 {{'collk.part' op has an operand that is no constant, in a table}}
      %part = collk.part %block of %block chunks %c1
    }
  }
}

// -----

// table_c2
collk.program @table_c2_epoch ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.table rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c1 = arith.constant 1 : i32
      %part = collk.part %block of %c1 chunks %c1
      // expected-error @+1 {{'collk.begin' op has an operand that is no constant, in a table}}
      %launch = collk.begin %block of %c1 by %part
    }
  }
}

// -----

// channel_c2
collk.program @channel_c2_host ranks = 1 chunks = 1 blocks = 1 slots = 1 host {
  collk.kernel @p_rank0 rank = 0 {
    // expected-error @+1 {{'collk.channel' op is spread over 2 threads, but a host has one for each rank}}
    collk.channel 0 spread = 2 {
    ^bb0(%block: i32):
    }
  }
}

// -----

// slot_c1
collk.program @slot_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p {
    %c0 = arith.constant 0 : i32
    %output = collk.own output
    // expected-error @+1 {{'collk.slot' op has LL words in a buffer that is not scratch}}
    %slot = collk.slot %output[%c0, %c0] : !collk.ll_slot
  }
}

// -----

// transfer_c1
collk.program @transfer_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %part = collk.part %c0 of %c1 chunks %c1
    %scratch = collk.own scratch
    %slot = collk.slot %scratch[%c0, %c0] : !collk.ll_slot
    // expected-error @+1 {{'collk.copy' op has LL words, but no launch whose number they carry}}
    collk.copy %slot to %slot chunks %c1 at %c0 by %part
        : !collk.ll_slot to !collk.ll_slot
  }
}

// -----

// transfer_c1
collk.program @transfer_c1_b ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %part = collk.part %c0 of %c1 chunks %c1
    %scratch = collk.own scratch
    %slot = collk.slot %scratch[%c0, %c0] : !collk.ll_slot
    // expected-error @+1 {{'collk.reduce' op has LL words, but no launch whose number they carry}}
    collk.reduce %slot, %slot to %slot chunks %c1 at %c0 by %part
        : !collk.ll_slot, !collk.ll_slot to !collk.ll_slot
  }
}

// -----

// reduce_c1
collk.program @reduce_c1 ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %part = collk.part %c0 of %c1 chunks %c1
    %scratch = collk.own scratch
    %slot = collk.slot %scratch[%c0, %c0] step %c0, %c1 : !collk.slot
    // expected-error @+1 {{'collk.reduce' op is repeated, and has several terms}}
    collk.reduce %slot, %slot to %slot chunks %c1 at %c0 times %c1 terms %c1
        by %part : !collk.slot, !collk.slot to !collk.slot
  }
}

// -----

// flags_c1
collk.program @flags_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %part = collk.part %c0 of %c1 chunks %c1
    %launch = collk.begin %c0 of %c1 by %part
    // expected-error @+1 {{'collk.wait' op has 0 flags, expected 1 to 64}}
    "collk.wait"(%part, %launch) : (!collk.part, i64) -> ()
  }
}

// -----

// flags_c1
collk.program @flags_c1_b ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %part = collk.part %c0 of %c1 chunks %c1
    %launch = collk.begin %c0 of %c1 by %part
    %flags = collk.flags %c0 count %c1
    // expected-error @+1 {{'collk.signal' op has flags beside a row of them}}
    collk.signal %flags, %flags by %part in %launch : !collk.flags, !collk.flags
  }
}

// -----

// mark_c1
collk.program @mark_c1_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      // expected-error @+1 {{'collk.mark' op has no place, in code for thread blocks}}
      collk.mark end channel 0
    }
  }
}

// -----

// mark_c1
collk.program @mark_c1_b ranks = 1 chunks = 1 blocks = 1 slots = 1 host {
  collk.kernel @p_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c1 = arith.constant 1 : i32
      %part = collk.part %block of %c1 chunks %c1
      // expected-error @+1 {{'collk.mark' op has a place, in code for a host}}
      collk.mark end channel 0 line 0 place 0 by %part
    }
  }
}

// -----

// mark_c2
collk.program @mark_c2_a ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c1 = arith.constant 1 : i32
      %part = collk.part %block of %c1 chunks %c1
      // expected-error @+1 {{'collk.mark' op has place 1, expected 0}}
      collk.mark end channel 0 line 0 place 1 by %part
    }
  }
}

// -----

// mark_c2
collk.program @mark_c2_b ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c1 = arith.constant 1 : i32
      %part = collk.part %block of %c1 chunks %c1
      collk.mark copy channel 0 chunks 1 at 0 times 1 line 0 place 0 by %part
      // expected-error @+1 {{'collk.mark' op has line 1, others of the channel have line 0}}
      collk.mark end channel 0 line 1 place 1 by %part
    }
  }
}

// -----

// mark_c2
collk.program @mark_c2_c ranks = 1 chunks = 1 blocks = 1 slots = 1 {
  collk.kernel @p_rank0 rank = 0 {
    collk.channel 0 {
    ^bb0(%block: i32):
      %c1 = arith.constant 1 : i32
      %part = collk.part %block of %c1 chunks %c1
      // expected-error @+1 {{'collk.mark' op is the last one of its channel, but no end}}
      collk.mark copy channel 0 chunks 1 at 0 times 1 line 0 place 0 by %part
    }
  }
}
