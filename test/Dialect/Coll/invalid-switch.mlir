// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @multicast_c1_from_input of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.multicast' op does not go from scratch to scratch}}
      coll.multicast chunk 0 from input[0] to scratch[1] of 0 step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @multicast_c1_to_output of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.multicast' op does not go from scratch to scratch}}
      coll.multicast chunk 0 from scratch[0] to output[0] of 0 step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @multicast_c1_no_rank of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.multicast' op names rank 3, but the program has 3 ranks}}
      coll.multicast chunk 0 from scratch[0] to scratch[1] of 3 step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_of_another of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.multicast' op destination scratch[1] with count 1 is outside the 1 slots of rank 1}}
      coll.multicast chunk 0 from scratch[0] to scratch[1] of 1 step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @load_reduce_c1_to_output of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op does not go from scratch to scratch}}
      coll.load_reduce chunk 0 from scratch[0] of [0, 2] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @load_reduce_c1_one_rank of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op expects two ranks or more, in ascending order, with rank 0 among them}}
      coll.load_reduce chunk 0 from scratch[0] of [0] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @load_reduce_c1_descending of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op expects two ranks or more, in ascending order, with rank 0 among them}}
      coll.load_reduce chunk 0 from scratch[0] of [2, 0] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @load_reduce_c1_twice of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op expects two ranks or more, in ascending order, with rank 0 among them}}
      coll.load_reduce chunk 0 from scratch[0] of [0, 0] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @load_reduce_c1_of_others of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op expects two ranks or more, in ascending order, with rank 0 among them}}
      coll.load_reduce chunk 0 from scratch[0] of [1, 2] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @load_reduce_c1_negative of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op names rank -1, but the program has 3 ranks}}
      coll.load_reduce chunk 0 from scratch[0] of [-1, 0] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @load_reduce_c2_all_gather of all_gather on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op in a program of all_gather, which does not combine}}
      coll.load_reduce chunk 0 from scratch[0] of [0, 2] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}

// -----

coll.topology @box ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_of_all of all_reduce on @box chunks = 3 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.load_reduce' op source scratch[2] with count 1 is outside the 1 slots of rank 1}}
      coll.load_reduce chunk 0 from scratch[2] of [0, 1, 2] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
  }
  coll.rank 2 scratch = 4 {
  }
}
