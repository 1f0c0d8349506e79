// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @channel_c1_foreign_op of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'arith.constant' op is not allowed in coll.channel, which holds only transfers, signals, waits and barriers}}
      %0 = arith.constant 0 : i32
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
coll.program @channel_c2_three of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    // expected-error @+1 {{'coll.channel' op attribute 'spread' failed to satisfy constraint}}
    coll.channel to 0 spread = 3 {
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
coll.program @put_c1_to_itself of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.put' op stands in the channel of a rank to itself}}
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
coll.program @put_c2_into_input of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op writes the input of rank 1}}
      coll.put chunk 0 from input[0] to input[0] step = 0
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
coll.program @get_c1_from_itself of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.get' op stands in the channel of a rank to itself}}
      coll.get chunk 0 from input[0] to output[0] step = 0
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
coll.program @get_c2_into_input of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get' op writes the input of rank 0}}
      coll.get chunk 0 from input[0] to input[0] step = 0
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
coll.program @copy_c1_into_input of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op writes the input of rank 0}}
      coll.copy chunk 0 from scratch[0] to input[0] step = 0
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
coll.program @local_reduce_c1_into_input of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op writes the input of rank 0}}
      coll.local_reduce chunk 0 from input[0], scratch[0] to input[0] step = 0
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
coll.program @local_reduce_c2_not_combining of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op in a program of all_gather, which does not combine}}
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0
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
coll.program @signal_c1_other_channel of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.signal' op announces that rank 0 is ready in its channel to rank 1}}
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
coll.program @signal_c2_no_value of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.signal' op attribute 'value' failed to satisfy constraint}}
      coll.signal arrival to 1 value = 0
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
coll.program @signal_c2_ready_value of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.signal' op has value 2 on a ready flag, expected 1}}
      coll.signal ready to 1 value = 2
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
coll.program @signal_to_absent_rank of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.signal' op names rank 2, but the program has 2 ranks}}
      coll.signal ready to 2 value = 1
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
coll.program @wait_c1_no_value of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.wait' op attribute 'value' failed to satisfy constraint}}
      coll.wait arrival from 1 value = 0
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
coll.program @wait_c1_ready_value of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.wait' op has value 2 on a ready flag, expected 1}}
      coll.wait ready from 1 value = 2
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
coll.program @wait_from_absent_rank of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.wait' op names rank 2, but the program has 2 ranks}}
      coll.wait arrival from 2 value = 1
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
coll.program @unknown_buffer of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{expected input, output or scratch, got inbox}}
      coll.copy chunk 0 from inbox[0] to output[0] step = 0
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
coll.program @unknown_flag of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{expected ready or arrival, got done}}
      coll.signal done to 1 value = 1
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
coll.program @reduce_put_c1_to_itself of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.reduce_put' op stands in the channel of a rank to itself}}
      coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 0
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
coll.program @reduce_put_c2_into_input of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.reduce_put' op writes the input of rank 1}}
      coll.reduce_put chunk 0 from input[0], scratch[0] to input[0] step = 0
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
coll.program @reduce_put_c3_not_combining of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.reduce_put' op in a program of all_gather, which does not combine}}
      coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 0
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
coll.program @get_reduce_c1_from_itself of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.get_reduce' op stands in the channel of a rank to itself}}
      coll.get_reduce chunk 0 from input[0], input[0] to scratch[0] step = 0
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
coll.program @get_reduce_c2_into_input of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get_reduce' op writes the input of rank 0}}
      coll.get_reduce chunk 0 from scratch[0], input[0] to input[0] step = 0
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
coll.program @get_reduce_c3_not_combining of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get_reduce' op in a program of all_gather, which does not combine}}
      coll.get_reduce chunk 0 from input[0], scratch[0] to scratch[0] step = 0
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
coll.program @put_c3_beside_a_signal of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op needs a copy engine in a program with signals and waits}}
      coll.put dma chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 0 {
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @get_c3_beside_a_wait of all_reduce on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.get' op needs a copy engine in a program with signals and waits}}
      coll.get dma chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 0 {
      coll.wait arrival from 0 value = 1
    }
  }
}
