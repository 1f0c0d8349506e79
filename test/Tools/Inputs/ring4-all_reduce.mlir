coll.topology @ring4 ranks = 4 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 3 bandwidth = 1
  coll.link 3 -> 0 bandwidth = 1
}
coll.schedule @ar of all_reduce on @ring4 chunks = 4 {
  coll.step rounds = 1 {
    coll.reduce 3 over 0 -> 1
    coll.reduce 0 over 1 -> 2
    coll.reduce 1 over 2 -> 3
    coll.reduce 2 over 3 -> 0
  }
  coll.step rounds = 1 {
    coll.reduce 2 over 0 -> 1
    coll.reduce 3 over 1 -> 2
    coll.reduce 0 over 2 -> 3
    coll.reduce 1 over 3 -> 0
  }
  coll.step rounds = 1 {
    coll.reduce 1 over 0 -> 1
    coll.reduce 2 over 1 -> 2
    coll.reduce 3 over 2 -> 3
    coll.reduce 0 over 3 -> 0
  }
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 2
    coll.send 2 over 2 -> 3
    coll.send 3 over 3 -> 0
  }
  coll.step rounds = 1 {
    coll.send 3 over 0 -> 1
    coll.send 0 over 1 -> 2
    coll.send 1 over 2 -> 3
    coll.send 2 over 3 -> 0
  }
  coll.step rounds = 1 {
    coll.send 2 over 0 -> 1
    coll.send 3 over 1 -> 2
    coll.send 0 over 2 -> 3
    coll.send 1 over 3 -> 0
  }
}
