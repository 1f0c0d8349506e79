// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-check-program

// Nobody sends what rank 1 waits for.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d2_no_ll of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.copy' op never ends on rank 1: nobody sends LL words to scratch[0] of rank 1 (D2)}}
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

// Rank 1 waits for its own copy.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d1_cycle of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.copy' op never ends on rank 1: it is in a deadlock (D1)}}
      coll.copy chunk 0 from scratch[1] to scratch[0] step = 0
      coll.copy chunk 0 from scratch[0] to scratch[1] step = 0
    }
  }
}

// -----

// Rank 0 hears nothing of rank 1, and may be launches ahead.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_no_ready of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op writes scratch of rank 1, of which rank 0 hears nothing before it writes there again (H3)}}
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

// LL words for nobody.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_unread of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      // expected-error @+1 {{'coll.put' op sends LL words to scratch[1] of rank 1, which nobody reads, so they may come in a later launch (H3)}}
      coll.put chunk 0 from input[0] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

// Two versions with one number.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d4_twice of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      // expected-error @+1 {{'coll.put' op writes scratch[0] of rank 1 a second time, but LL words have only a number for each launch (D4)}}
      coll.put chunk 0 from input[0] to scratch[0] step = 0
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

// The root gets chunk 1 back, and hears of rank 1 by that only. In short segments
// chunk 1 has no bytes, when chunk 0, which the root sends, has some.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_empty_chunk of broadcast on @pair chunks = 2 root = 0 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.copy chunk 1 from scratch[0] to output[1] step = 1
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op writes scratch of rank 1, of which rank 0 hears nothing before it writes there again (H3)}}
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.put chunk 1 from input[1] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 0 {
      coll.put chunk 1 from scratch[1] to scratch[0] step = 1
    }
    coll.channel to 1 {
      coll.copy chunk 0 count = 2 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

// The first put of rank 0 sends back chunk 1, which tells of rank 1, and beside it
// its own chunk 0, which tells nothing.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_one_chunk_of_two of reduce on @pair chunks = 2 root = 1 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 2 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op writes scratch of rank 1, of which rank 0 hears nothing before it writes there again (H3)}}
      coll.put chunk 0 count = 2 from scratch[0] to scratch[0] step = 1
      coll.put chunk 1 from input[1] to scratch[2] step = 1
    }
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 0 {
      coll.put chunk 1 from input[1] to scratch[1] step = 0
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
      coll.local_reduce chunk 1 from scratch[1], scratch[2] to output[1] step = 1 final
    }
  }
}
