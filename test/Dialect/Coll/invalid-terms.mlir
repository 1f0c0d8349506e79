// RUN: sccl-opt %s -split-input-file -verify-diagnostics

coll.topology @one_way ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.program @program_c15_overlap of reduce on @one_way chunks = 2 root = 0 blocks = 1 {
  coll.rank 0 scratch = 8 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op has 2 terms of 2 chunks with a stride of 1, so that they overlap}}
      coll.local_reduce chunk 0 count = 2 from input[0], scratch[0] terms = 2 by 1 to output[0] step = 0 final
    }
  }
  coll.rank 1 scratch = 0 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.program @program_c15_one of reduce on @one_way chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 8 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op has a stride of 1 for one term}}
      coll.local_reduce chunk 0 from input[0], scratch[0] to output[0] step = 0 final {term_stride = 1 : i32}
    }
  }
  coll.rank 1 scratch = 0 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.program @program_c15_output of all_reduce on @one_way chunks = 1 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op has 2 terms in output, expected them in scratch}}
      coll.local_reduce chunk 0 from input[0], output[0] terms = 2 by 1 to output[0] step = 0 final
    }
  }
  coll.rank 1 scratch = 0 {
  }
}

// -----

coll.topology @one_way ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.program @program_c3_last_term of reduce on @one_way chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 4 {
    coll.channel to 0 {
      // expected-error @+1 {{'coll.local_reduce' op source scratch[4] with count 1 is outside the 4 slots of rank 0}}
      coll.local_reduce chunk 0 from input[0], scratch[0] terms = 3 by 2 to output[0] step = 0 final
    }
  }
  coll.rank 1 scratch = 0 {
  }
}
