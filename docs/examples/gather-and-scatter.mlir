// Of two vectors, an all_gather of one and a reduce_scatter of the other at once:
// chunks 0 to 3 are multicast, chunks 4 to 7 are reduced by the switch.
coll.topology @box ranks = 4 {
  coll.link 0 -> 1
  coll.link 0 -> 2
  coll.link 0 -> 3
  coll.link 1 -> 0
  coll.link 1 -> 2
  coll.link 1 -> 3
  coll.link 2 -> 0
  coll.link 2 -> 1
  coll.link 2 -> 3
  coll.link 3 -> 0
  coll.link 3 -> 1
  coll.link 3 -> 2
  coll.limit [0 -> 1, 0 -> 2, 0 -> 3] bandwidth = 1
  coll.limit [1 -> 0, 2 -> 0, 3 -> 0] bandwidth = 1
  coll.limit [1 -> 0, 1 -> 2, 1 -> 3] bandwidth = 1
  coll.limit [0 -> 1, 2 -> 1, 3 -> 1] bandwidth = 1
  coll.limit [2 -> 0, 2 -> 1, 2 -> 3] bandwidth = 1
  coll.limit [0 -> 2, 1 -> 2, 3 -> 2] bandwidth = 1
  coll.limit [3 -> 0, 3 -> 1, 3 -> 2] bandwidth = 1
  coll.limit [0 -> 3, 1 -> 3, 2 -> 3] bandwidth = 1
  coll.switch [0, 1, 2, 3] multicast reduces
}
coll.collective @gather_and_scatter ranks = 4 chunks = 1 distinct = 8 combining {
  coll.pre 0 has [0, 4, 5, 6, 7]
  coll.pre 1 has [1, 4, 5, 6, 7]
  coll.pre 2 has [2, 4, 5, 6, 7]
  coll.pre 3 has [3, 4, 5, 6, 7]
  coll.post 0 has [0, 1, 2, 3, 4]
  coll.post 1 has [0, 1, 2, 3, 5]
  coll.post 2 has [0, 1, 2, 3, 6]
  coll.post 3 has [0, 1, 2, 3, 7]
}
// Four rounds for two vectors of four chunks; six without the switch.
coll.schedule @both of @gather_and_scatter on @box chunks = 1 {
  coll.step rounds = 4 {
    coll.send 0 over 0 -> 1 by multicast
    coll.send 0 over 0 -> 2 by multicast
    coll.send 0 over 0 -> 3 by multicast
    coll.send 1 over 1 -> 0 by multicast
    coll.send 1 over 1 -> 2 by multicast
    coll.send 1 over 1 -> 3 by multicast
    coll.send 2 over 2 -> 0 by multicast
    coll.send 2 over 2 -> 1 by multicast
    coll.send 2 over 2 -> 3 by multicast
    coll.send 3 over 3 -> 0 by multicast
    coll.send 3 over 3 -> 1 by multicast
    coll.send 3 over 3 -> 2 by multicast
    coll.reduce 4 over 1 -> 0 by load_reduce
    coll.reduce 4 over 2 -> 0 by load_reduce
    coll.reduce 4 over 3 -> 0 by load_reduce
    coll.reduce 5 over 0 -> 1 by load_reduce
    coll.reduce 5 over 2 -> 1 by load_reduce
    coll.reduce 5 over 3 -> 1 by load_reduce
    coll.reduce 6 over 0 -> 2 by load_reduce
    coll.reduce 6 over 1 -> 2 by load_reduce
    coll.reduce 6 over 3 -> 2 by load_reduce
    coll.reduce 7 over 0 -> 3 by load_reduce
    coll.reduce 7 over 1 -> 3 by load_reduce
    coll.reduce 7 over 2 -> 3 by load_reduce
  }
}
