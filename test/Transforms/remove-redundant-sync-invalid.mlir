// RUN: sccl-opt %s -split-input-file -verify-diagnostics -coll-remove-redundant-sync

// The pass executes the program; one that gets stuck is none of its business.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @nobody_signals of broadcast on @pair chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.wait' op never ends on rank 1: rank 0 signals 0 arrivals to rank 1, not 1 (D2)}}
      coll.wait arrival from 0 value = 1
    }
  }
}

// -----

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.program @cycle of all_gather on @pair chunks = 1 blocks = 1 double_buffered {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      // expected-error @+1 {{'coll.wait' op never ends on rank 0: it is in a deadlock (D1)}}
      coll.wait arrival from 1 value = 1
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait arrival from 0 value = 1
      coll.signal arrival to 0 value = 1
    }
  }
}
