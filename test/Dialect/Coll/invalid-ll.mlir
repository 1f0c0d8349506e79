// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
// expected-error @+1 {{'coll.program' op has LL words, but its scratch is not double-buffered}}
coll.program @program_c10_one_half of broadcast on @pair chunks = 1 root = 0 blocks = 1 ll {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c11_arrival of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      // expected-error @+1 {{'coll.signal' op is about an arrival, which LL words tell by themselves}}
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c11_pull of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.get' op does not push, as LL words have to}}
      coll.get chunk 0 from input[0] to output[0] step = 0
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c11_copy_engine of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op does not push, as LL words have to}}
      coll.put dma chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @program_c11_output_of_peer of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op writes the output of a peer, where no LL words are}}
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
coll.program @program_c11_reads_output of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op reads an output, where no LL words are}}
      coll.put chunk 0 from output[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}
