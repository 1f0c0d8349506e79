// RUN: sccl-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(coll.program(coll-check-program{in-place=true}))'

// A copy of a chunk onto itself is no access, so nothing has to wait for it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @all_gather of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.copy chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 value = 1
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

// Each rank combines into its output while the other may still read its input,
// which is the same place.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.program' op does not work in place (H4)}}
coll.program @h4_input_overwritten of all_reduce on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-note @+1 {{'coll.put' op races: it reads input[0] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

// What a rank sends and what it receives have different places.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+2 {{'coll.program' op does not work in place (H4)}}
// expected-note @+1 {{send and receive buffers have no places in common}}
coll.program @h4_all_to_all of all_to_all on @pair chunks = 2 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 1 from input[1] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.copy chunk 3 from input[1] to output[1] step = 0
      coll.wait arrival from 0 value = 1
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 2 from input[0] to output[1] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

// Rank 1 gives chunk 0 back while rank 0 may still send it to rank 2. Where it
// lies is the input only in place.
coll.topology @mesh ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 2 -> 1 unlimited
}
// expected-error @+1 {{'coll.program' op does not work in place (H4)}}
coll.program @h4_given_back of all_gather on @mesh chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.signal ready to 2 value = 1
      coll.wait arrival from 1 value = 1
      coll.wait arrival from 2 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.signal ready to 2 value = 1
      coll.copy chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 value = 1
      coll.wait arrival from 2 value = 1
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 channel = 1 value = 1
      // expected-note @+1 {{'coll.put' op races: it writes output[0] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.signal ready to 0 value = 1
      coll.signal ready to 1 value = 1
      coll.copy chunk 2 from input[0] to output[2] step = 0
      coll.wait arrival from 0 value = 1
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 2 from input[0] to output[2] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 2 from input[0] to output[2] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
}

// -----

// So does it here with the second of two repetitions.
coll.topology @mesh ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 2 -> 1 unlimited
}
// expected-error @+1 {{'coll.program' op does not work in place (H4)}}
coll.program @h4_repeated of all_gather on @mesh chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.signal ready to 2 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
      coll.wait arrival from 2 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.signal ready to 2 value = 1
      coll.copy chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 value = 1
      coll.wait arrival from 2 value = 1
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 channel = 1 value = 1
      coll.wait arrival from 2 channel = 1 value = 1
      // expected-note @+1 {{'coll.put' op races: it writes output[2] of rank 2, which another channel accesses without being ordered (H1)}}
      coll.put chunk 0 times = 2 by 2 from output[0 by 2] to output[0 by 2] step = 1
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 2 from input[0] to output[2] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 2 from input[0] to output[2] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
}
