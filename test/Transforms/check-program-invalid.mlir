// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-check-program

// Nobody signals.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d2_arrival_missing of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      // expected-error @+1 {{'coll.wait' op never ends on rank 1: rank 0 signals 0 arrivals to rank 1, not 1 (D2)}}
      coll.wait arrival from 0 value = 1
    }
  }
}

// -----

// One signal, two awaited.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d2_arrival_short of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
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
      // expected-error @+1 {{'coll.wait' op never ends on rank 1: rank 0 signals 1 arrivals to rank 1, not 2 (D2)}}
      coll.wait arrival from 0 value = 2
    }
  }
}

// -----

// The receiver does not announce itself.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d2_ready_missing of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.wait' op never ends on rank 0: rank 1 does not announce that it is ready to rank 0 (D2)}}
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.wait arrival from 0 value = 1
    }
  }
}

// -----

// Each rank waits for the other before it sends.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d1_cycle of all_gather on @pair chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-error @+1 {{'coll.wait' op never ends on rank 0: it is in a deadlock (D1)}}
      coll.wait arrival from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.copy chunk 1 from input[0] to output[1] step = 0
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

// The relay does not wait for what it passes on (read after write).
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}
coll.program @h1_read_before_arrival of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-note @+1 {{the other access is here}}
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
    coll.channel to 2 {
      coll.wait ready from 2 value = 1
      // expected-error @+1 {{'coll.put' op races: it reads output[0] of rank 1, which another channel accesses without being ordered (H1)}}
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 2 value = 1
    }
  }
  coll.rank 2 scratch = 0 {
    coll.channel to 2 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
}

// -----

// Two senders write one slot (write after write).
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_two_writers of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      // expected-note @+1 {{the other access is here}}
      coll.copy chunk 0 from input[0] to output[0] step = 0
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
      coll.wait arrival from 0 value = 1
    }
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.wait arrival from 0 value = 1
      // expected-error @+1 {{'coll.put' op races: it writes output[0] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

// The second put may overwrite scratch[0] before it is read.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_overwritten_before_read of reduce on @pair chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      // expected-error @+1 {{'coll.local_reduce' op races: it reads scratch[0] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
      coll.wait arrival from 1 value = 2
      coll.local_reduce chunk 1 from input[1], scratch[0] to output[1] step = 1 final
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
      // expected-note @+1 {{the other access is here}}
      coll.put chunk 1 from input[1] to scratch[0] step = 1
      coll.signal arrival to 0 value = 2
    }
  }
}

// -----

// The second put waits for the arrival of the first, but not until it has been
// read (write after read).
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_overwritten_while_read of reduce on @pair chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      // expected-note @+1 {{the other access is here}}
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final
      coll.wait arrival from 1 value = 2
      coll.local_reduce chunk 1 from input[1], scratch[0] to output[1] step = 1 final
    }
    coll.channel to 1 {
      coll.wait arrival from 1 value = 1
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
      coll.wait arrival from 0 value = 1
      // expected-error @+1 {{'coll.put' op races: it writes scratch[0] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.put chunk 1 from input[1] to scratch[0] step = 1
      coll.signal arrival to 0 value = 2
    }
  }
}

// -----

// The receiver does not wait for its output.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_returns_early of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-note @+1 {{it is written here}}
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  // expected-error @+1 {{'coll.rank' op may return before output[0] is written (H1)}}
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
    }
  }
}

// -----

// The owner does not wait until its input has been read: the next launch may
// change it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_returns_while_read of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  // expected-error @+1 {{'coll.rank' op may return before input[0] is read (H1)}}
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      // expected-note @+1 {{it is read here}}
      coll.get chunk 0 from input[0] to output[0] step = 0
    }
  }
}

// -----

// The sender writes before the receiver has begun.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_put_before_ready of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op touches buffers of rank 1 without knowing that its launch has begun (H3)}}
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_get_before_ready of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.get' op touches buffers of rank 0 without knowing that its launch has begun (H3)}}
      coll.get chunk 0 from input[0] to output[0] step = 0
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @a1_reads_nothing of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.copy' op reads chunk 0 from scratch[0] of rank 0, which holds nothing then (A1)}}
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @a1_reads_wrong_chunk of broadcast on @pair chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to scratch[0] step = 0
      // expected-error @+1 {{'coll.copy' op reads chunk 1 from scratch[0] of rank 0, which holds chunk 0 then (A1)}}
      coll.copy chunk 1 from scratch[0] to output[1] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @a1_output_missing of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  // expected-error @+1 {{'coll.rank' op ends with nothing in output[0], expected chunk 0 (A1)}}
  coll.rank 1 scratch = 0 {
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @a1_output_wrong_chunk of all_gather on @pair chunks = 1 blocks = 1 {
  // expected-error @+1 {{'coll.rank' op ends with chunk 1 in output[0], expected chunk 0 (A1)}}
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[1] step = 0
      coll.wait arrival from 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 1 from input[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @a1_contribution_twice of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 2 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to scratch[1] step = 0 final
      // expected-error @+1 {{'coll.local_reduce' op combines the contribution of rank 1 to chunk 0 twice (A1)}}
      coll.local_reduce chunk 0 from scratch[1], scratch[0] to output[0] step = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @a1_contribution_missing of reduce on @pair chunks = 1 root = 0 blocks = 1 {
  // expected-error @+1 {{'coll.rank' op ends without the contribution of rank 1 to chunk 0 (A1)}}
  coll.rank 0 scratch = 2 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

// A wait may name another channel of the peer; nobody signals in that one.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @d2_other_channel of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
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
      // expected-error @+1 {{'coll.wait' op never ends on rank 1: rank 0 signals 0 arrivals to rank 1, not 1 (D2)}}
      coll.wait arrival from 0 channel = 0 value = 1
    }
  }
}

// -----

// Scratch is double-buffered, so rank 0 need not wait for ready; but in launch e + 2 it
// writes the same half again, and rank 1 may still be in launch e.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_double_buffered_hears_nothing of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op writes scratch of rank 1, of which rank 0 hears nothing before it writes there again (H3)}}
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.wait arrival from 0 value = 1
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

// Only scratch is double-buffered: outputs belong to the user, who may not have given
// them yet.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h3_double_buffered_output of all_gather on @pair chunks = 1 blocks = 1 double_buffered {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.wait arrival from 1 value = 1
    }
    coll.channel to 1 {
      // expected-error @+1 {{'coll.put' op touches buffers of rank 1 without knowing that its launch has begun (H3)}}
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.put chunk 1 from input[0] to output[1] step = 0
      coll.signal arrival to 0 value = 1
    }
    coll.channel to 1 {
      coll.copy chunk 1 from input[0] to output[1] step = 0
      coll.wait arrival from 0 value = 1
    }
  }
}

// -----

// Rank 0 writes rank 1's scratch once more after its last signal, where nobody
// reads it: in rank 1's next launch it may be in use.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_returns_while_scratch_is_written of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to output[0] step = 0
      coll.signal arrival to 1 value = 1
      // expected-note @+1 {{it is written here}}
      coll.put chunk 0 from input[0] to scratch[0] step = 1
    }
  }
  // expected-error @+1 {{'coll.rank' op may return before scratch[0] is written (H1)}}
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
    }
  }
}

// -----

// The same with a slot that rank 1 has used before, and scratch that is double-buffered:
// the launch after the next one uses the same half.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_returns_while_its_half_is_written of broadcast on @pair chunks = 1 root = 0 blocks = 1 double_buffered {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
      coll.wait arrival from 1 channel = 1 value = 1
      // expected-note @+1 {{it is written here}}
      coll.put chunk 0 from input[0] to scratch[0] step = 1
    }
  }
  // expected-error @+1 {{'coll.rank' op may return before scratch[0] is written (H1)}}
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.copy chunk 0 from scratch[0] to output[0] step = 0
      coll.signal arrival to 0 value = 1
    }
  }
}

// -----

// Rank 1 pulls from rank 0's scratch, and does not say when it is done: rank 0
// may begin its next launch and overwrite it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_returns_while_scratch_is_read of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  // expected-error @+1 {{'coll.rank' op may return before scratch[0] is read (H1)}}
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.copy chunk 0 from input[0] to scratch[0] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.wait arrival from 0 channel = 0 value = 1
      // expected-note @+1 {{it is read here}}
      coll.get chunk 0 from scratch[0] to output[0] step = 0
    }
  }
}

// -----

// The signal that tells the owner stands before the read, not after it.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_done_too_early of reduce on @pair chunks = 1 root = 1 blocks = 1 {
  // expected-error @+1 {{'coll.rank' op may return before input[0] is read (H1)}}
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.signal ready to 1 value = 1
      coll.wait arrival from 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait ready from 0 value = 1
      coll.signal arrival to 0 value = 1
      // expected-note @+1 {{it is read here}}
      coll.get_reduce chunk 0 from input[0], input[0] to output[0] step = 0 final
    }
  }
}

// -----

// A reduce_put reads both of its sources: nothing orders the second one.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_reduce_put_before_copy of reduce on @pair chunks = 1 root = 1 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      // expected-note @+1 {{the other access is here}}
      coll.copy chunk 0 from input[0] to scratch[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      // expected-error @+1 {{'coll.reduce_put' op races: it reads scratch[0] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.reduce_put chunk 0 from input[0], scratch[0] to scratch[0] step = 1
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 1 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 1 final
    }
  }
}

// -----

// Both in one part: nothing orders the kernel of rank 1 and that of rank 0.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @h1_barrier_missing of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 1 {
    coll.channel to 0 {
      coll.barrier
      coll.copy chunk 0 from input[0] to output[0] step = 0
      // expected-note @+1 {{the other access is here}}
      coll.copy chunk 0 from input[0] to scratch[0] step = 0
      coll.barrier
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.barrier
      // expected-error @+1 {{'coll.get' op races: it reads scratch[0] of rank 0, which another channel accesses without being ordered (H1)}}
      coll.get chunk 0 from scratch[0] to output[0] step = 0
      coll.barrier
    }
  }
}

// -----

// A copy by many threads, one of which writes what another reads.
coll.topology @one_way ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @h1_copy_onto_itself of broadcast on @one_way chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.copy chunk 0 count = 2 from input[0] to output[0] step = 0
    }
    coll.channel to 1 {
      coll.wait ready from 1 value = 1
      coll.put chunk 0 count = 2 from input[0] to scratch[1] step = 0
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 3 {
    coll.channel to 1 {
      coll.signal ready to 0 value = 1
      coll.wait arrival from 0 value = 1
      // expected-error @+1 {{'coll.copy' op races with itself: it reads scratch[1] of rank 1, and writes another chunk there (H1)}}
      coll.copy chunk 0 count = 2 from scratch[1] to scratch[0] step = 0
      coll.copy chunk 0 count = 2 from scratch[0] to output[0] step = 0
    }
  }
}
