module {
  coll.topology @hypercube_3 ranks = 8 {
    coll.link 0 -> 1 bandwidth = 1
    coll.link 0 -> 2 bandwidth = 1
    coll.link 0 -> 4 bandwidth = 1
    coll.link 1 -> 0 bandwidth = 1
    coll.link 1 -> 3 bandwidth = 1
    coll.link 1 -> 5 bandwidth = 1
    coll.link 2 -> 0 bandwidth = 1
    coll.link 2 -> 3 bandwidth = 1
    coll.link 2 -> 6 bandwidth = 1
    coll.link 3 -> 1 bandwidth = 1
    coll.link 3 -> 2 bandwidth = 1
    coll.link 3 -> 7 bandwidth = 1
    coll.link 4 -> 0 bandwidth = 1
    coll.link 4 -> 5 bandwidth = 1
    coll.link 4 -> 6 bandwidth = 1
    coll.link 5 -> 1 bandwidth = 1
    coll.link 5 -> 4 bandwidth = 1
    coll.link 5 -> 7 bandwidth = 1
    coll.link 6 -> 2 bandwidth = 1
    coll.link 6 -> 4 bandwidth = 1
    coll.link 6 -> 7 bandwidth = 1
    coll.link 7 -> 3 bandwidth = 1
    coll.link 7 -> 5 bandwidth = 1
    coll.link 7 -> 6 bandwidth = 1
  }
  coll.schedule @broadcast of broadcast on @hypercube_3 chunks = 1 root = 3 {
    coll.step rounds = 1 {
      coll.send 0 over 3 -> 1
      coll.send 0 over 3 -> 2
      coll.send 0 over 3 -> 7
    }
    coll.step rounds = 1 {
      coll.send 0 over 1 -> 0
      coll.send 0 over 1 -> 5
      coll.send 0 over 2 -> 6
    }
    coll.step rounds = 1 {
      coll.send 0 over 0 -> 4
    }
  }
}
