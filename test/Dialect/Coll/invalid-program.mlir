// RUN: sccl-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'coll.program' op names topology @nowhere, which does not exist}}
coll.program @program_c1_absent_topology of all_reduce on @nowhere chunks = 1 blocks = 1 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.program' op names collective @mine, which does not exist}}
coll.program @program_c1_absent_collective of @mine on @pair chunks = 1 blocks = 1 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.collective @three ranks = 3 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
}
// expected-error @+1 {{'coll.program' op puts collective @three of 3 ranks on a topology of 2}}
coll.program @program_c1_other_ranks of @three on @pair chunks = 1 blocks = 1 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.program' op root 2 is out of range for 2 ranks}}
coll.program @program_c1_root_out_of_range of broadcast on @pair chunks = 1 root = 2 blocks = 1 {
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.program' op has 1 ranks, but topology @pair has 2}}
coll.program @program_c2_rank_missing of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c2_ranks_out_of_order of all_reduce on @pair chunks = 1 blocks = 1 {
  // expected-error @+1 {{'coll.rank' op is number 1, expected 0}}
  coll.rank 1 scratch = 0 {
  }
  coll.rank 0 scratch = 0 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c2_foreign_op of all_reduce on @pair chunks = 1 blocks = 1 {
  // expected-error @+1 {{'arith.constant' op is not allowed in coll.program, which holds only coll.rank}}
  %0 = arith.constant 0 : i32
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_source_slot of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op source input[2] with count 1 is outside the 2 slots of rank 0}}
      coll.put chunk 0 from input[2] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_destination_slot of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op destination scratch[0] with count 2 is outside the 1 slots of rank 1}}
      coll.put chunk 0 count = 2 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_second_source_slot of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op source scratch[1] with count 1 is outside the 1 slots of rank 0}}
      coll.local_reduce chunk 0 from input[0], scratch[1] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_no_output of reduce on @pair chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op destination output[0] with count 1 is outside the 0 slots of rank 1}}
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_absent_chunk of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op moves chunks 2 to 2, which are not in one segment of 2 chunks}}
      coll.put chunk 2 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_two_segments of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get' op moves chunks 0 to 1, which are not in one segment of 1 chunks}}
      coll.get chunk 0 count = 2 from output[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c4_first_arrival of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.signal' op carries value 2, expected 1}}
      coll.signal arrival to 1 value = 2
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c4_same_arrival_twice of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      coll.signal arrival to 1 value = 1
      // expected-error @+1 {{'coll.signal' op carries value 1, expected 2}}
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c4_ready_twice of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      // expected-error @+1 {{'coll.signal' op says once more that the rank is ready}}
      coll.signal ready to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c5_channel_out_of_range of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    // expected-error @+1 {{'coll.channel' op leads to rank 2, but the program has 2 ranks}}
    coll.channel to 2 {
      coll.wait ready from 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c5_channel_twice of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
    }
    // expected-error @+1 {{'coll.channel' op is the second one from rank 1 to rank 0}}
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{attribute 'blocks' failed to satisfy constraint}}
coll.program @blocks_above_limit of all_reduce on @pair chunks = 2 blocks = 65 {
  coll.rank 0 scratch = 1 {
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @scratch_negative of all_reduce on @pair chunks = 2 blocks = 1 {
  // expected-error @+1 {{attribute 'scratch' failed to satisfy constraint}}
  coll.rank 0 scratch = -1 {
  }
  coll.rank 1 scratch = -1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @rank_c1_foreign_op of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    // expected-error @+1 {{'arith.constant' op is not allowed in coll.rank, which holds only coll.channel}}
    %0 = arith.constant 0 : i32
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

// The sources of a reduce_put are the rank's own, its destination is the peer's.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_reduce_put_source of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.reduce_put' op source scratch[1] with count 1 is outside the 1 slots of rank 0}}
      coll.reduce_put chunk 0 from input[0], scratch[1] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_reduce_put_destination of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 2 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.reduce_put' op destination scratch[1] with count 1 is outside the 1 slots of rank 1}}
      coll.reduce_put chunk 0 from input[0], scratch[1] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

// The second source of a get_reduce is the peer's, the rest the rank's own.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_get_reduce_source of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 2 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get_reduce' op source scratch[1] with count 1 is outside the 1 slots of rank 1}}
      coll.get_reduce chunk 0 from scratch[1], scratch[1] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_get_reduce_destination of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get_reduce' op destination scratch[1] with count 1 is outside the 1 slots of rank 0}}
      coll.get_reduce chunk 0 from scratch[0], scratch[1] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
  }
}

// -----

// A channel counts the arrivals for each rank by themselves.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c4_other_rank of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      coll.signal arrival to 1 value = 1
      // expected-error @+1 {{'coll.signal' op carries value 2, expected 1}}
      coll.signal arrival to 0 value = 2
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c6_barrier_missing of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      coll.barrier
      coll.barrier
    }
  }
  coll.rank 1 scratch = 1 {
    // expected-error @+1 {{'coll.channel' op has 1 barriers, but others have 2}}
    coll.channel to 0 {
      coll.barrier
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c6_channel_without_barriers of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.barrier
      coll.barrier
    }
    // expected-error @+1 {{'coll.channel' op has 0 barriers, but others have 2}}
    coll.channel to 1 {
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

// With 17 bytes, chunk 0 has 16 and chunk 1 has one.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c7_destination of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op has chunk 0 in output[1], which is chunk 1 of a segment, not 0 (B1)}}
      coll.put chunk 0 from input[0] to output[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c7_source of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get' op has chunk 1 in input[0], which is chunk 0 of a segment, not 1 (B1)}}
      coll.get chunk 1 from input[0] to output[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c7_second_source of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get_reduce' op has chunk 1 in input[0], which is chunk 0 of a segment, not 1 (B1)}}
      coll.get_reduce chunk 1 from scratch[0], input[0] to output[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c8_before_the_barriers of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op stands outside of the barriers}}
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.barrier
      coll.barrier
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c8_after_the_barriers of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      coll.barrier
      coll.barrier
      // expected-error @+1 {{'coll.signal' op stands outside of the barriers}}
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.program' op has both barriers and scratch that is double-buffered}}
coll.program @program_c9_double_buffered of all_reduce on @pair chunks = 2 blocks = 1 double_buffered {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      coll.barrier
      coll.barrier
    }
  }
  coll.rank 1 scratch = 1 {
  }
}

// -----

// Kernels of a step do not count launches, so this flag would grow only once.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c12_arrival of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.barrier
      coll.put chunk 0 from input[0] to output[0] step = 0
      // expected-error @+1 {{'coll.signal' op is a flag in a program with barriers, whose kernels do not count launches}}
      coll.signal arrival to 1 value = 1
      coll.barrier
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.barrier
      coll.wait arrival from 0 value = 1
      coll.barrier
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c12_ready of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.barrier
      // expected-error @+1 {{'coll.wait' op is a flag in a program with barriers, whose kernels do not count launches}}
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.barrier
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.barrier
      coll.signal ready to 0 value = 1
      coll.barrier
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.program' op has 4000000000 slots of scratch, expected at most 67108864 of all ranks}}
coll.program @program_c14_scratch of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 2000000000 {
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 2000000000 {
  }
}
