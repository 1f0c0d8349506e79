module {
  coll.topology @line_4 ranks = 4 {
    coll.link 0 -> 1 bandwidth = 1
    coll.link 1 -> 0 bandwidth = 1
    coll.link 1 -> 2 bandwidth = 1
    coll.link 2 -> 1 bandwidth = 1
    coll.link 2 -> 3 bandwidth = 1
    coll.link 3 -> 2 bandwidth = 1
  }
  coll.schedule @reduce_scatter of reduce_scatter on @line_4 chunks = 4 attributes {ways = [#coll.way<sum_order = "left">]} {
    coll.step rounds = 1 {
      coll.reduce input 0 over 0 -> 1
      coll.reduce input 0 over 2 -> 1
      coll.keep input 0 over 3 -> 2 as 1
    }
    coll.step rounds = 3 {
      coll.reduce kept [1] 0 over 2 -> 1
      coll.reduce input 1 over 2 -> 1
      coll.keep input 1 over 3 -> 2 as 1
      coll.reduce input 2 to 3 over 0 -> 1
      coll.reduce input 2 over 3 -> 2
      coll.reduce input 3 over 2 -> 3
    }
    coll.step rounds = 1 {
      coll.keep 3 over 1 -> 2 as 1
    }
    coll.step rounds = 1 {
      coll.send 0 over 1 -> 0
      coll.reduce input 1 over 0 -> 1
      coll.reduce kept [1] 1 over 2 -> 1
      coll.reduce 2 over 1 -> 2
      coll.reduce kept [1] 3 over 2 -> 3
    }
  }
}
