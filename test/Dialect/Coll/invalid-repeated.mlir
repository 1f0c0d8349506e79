// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c13_stride_alone of scatter on @one_way chunks = 4 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op has a stride of 2 for its destination, but is not repeated}}
      coll.put chunk 2 from input[2] to output[0 by 2] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c13_overlap of scatter on @one_way chunks = 4 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op repeats 2 chunks with a stride of 1 for its destination, so that repetitions overlap}}
      coll.copy chunk 0 count = 2 times = 2 by 2 from input[0 by 2] to scratch[0 by 1] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c13_no_stride of scatter on @one_way chunks = 4 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op repeats 1 chunks with a stride of 0 for a source, so that repetitions overlap}}
      coll.copy chunk 0 times = 2 by 2 from input[0] to scratch[0 by 1] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c13_place of scatter on @one_way chunks = 4 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op has a stride of 1 for its chunks, which is not a multiple of the 2 chunks of a segment}}
      coll.copy chunk 0 times = 2 by 1 from input[0 by 2] to scratch[0 by 2] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c13_source_place of scatter on @one_way chunks = 4 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op has a stride of 1 for a source, which is not a multiple of the 2 chunks of a segment}}
      coll.copy chunk 0 times = 2 by 2 from input[0 by 1] to scratch[0 by 2] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.program @program_c13_second_source of reduce on @one_way chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op has a stride of 2 for a source, but is not repeated}}
      coll.local_reduce chunk 0 from input[0], scratch[0 by 2] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}

// -----

// The last repetition is outside, however far: the numbers do not wrap.
coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @program_c3_repeated of scatter on @one_way chunks = 4 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op source input[4294967292] with count 1 is outside the 4 slots of rank 0}}
      coll.copy chunk 0 times = 2147483647 by 2 from input[0 by 2] to scratch[0 by 2] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @repeated_chunks of scatter on @one_way chunks = 4 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op moves chunks 4 to 4, which are not in one segment of 2 chunks}}
      coll.copy chunk 0 times = 3 by 2 from scratch[0 by 1] to scratch[1 by 1] step = 0
    }
  }
  coll.rank 1 scratch = 4 {
  }
}
