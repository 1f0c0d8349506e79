module {
  coll.topology @pair ranks = 2 {
    coll.link 0 -> 1 bandwidth = 1
    coll.link 1 -> 0 bandwidth = 1
  }
  coll.schedule @ag of all_gather on @pair chunks = 1 {
    coll.step rounds = 1 {
      coll.send 0 over 0 -> 1
      coll.send 1 over 1 -> 0
    }
  }
  coll.program @sum of all_reduce on @pair chunks = 2 blocks = 64 {
    coll.rank 0 scratch = 3 {
      coll.channel to 0 {
        coll.signal ready to 1 value = 1
        coll.copy chunk 0 count = 2 from input[0] to scratch[1] step = 0
        coll.local_reduce chunk 1 from input[1], scratch[0] to output[1] step = 4
        coll.local_reduce chunk 0 count = 2 from scratch[1], input[0] to output[0] step = 4 final
        coll.wait arrival from 1 value = 2
      }
      coll.channel to 1 attributes {lane = 1 : i64} {
        coll.wait ready from 1 value = 1
        coll.put chunk 1 from input[1] to scratch[0] step = 0
        coll.put chunk 0 count = 2 from scratch[1] to output[0] step = 1
        coll.signal arrival to 1 value = 1
        coll.get chunk 0 from input[0] to scratch[2] step = 1
        coll.get chunk 0 count = 2 from output[0] to output[0] step = 2
        coll.signal arrival to 1 value = 2
      }
    }
    coll.rank 1 scratch = 1 {
    }
  }
}

