module {
  coll.topology @mesh_8 ranks = 8 {
    coll.link 0 -> 1 bandwidth = 1
    coll.link 0 -> 2 bandwidth = 1
    coll.link 0 -> 3 bandwidth = 1
    coll.link 0 -> 4 bandwidth = 1
    coll.link 0 -> 5 bandwidth = 1
    coll.link 0 -> 6 bandwidth = 1
    coll.link 0 -> 7 bandwidth = 1
    coll.link 1 -> 0 bandwidth = 1
    coll.link 1 -> 2 bandwidth = 1
    coll.link 1 -> 3 bandwidth = 1
    coll.link 1 -> 4 bandwidth = 1
    coll.link 1 -> 5 bandwidth = 1
    coll.link 1 -> 6 bandwidth = 1
    coll.link 1 -> 7 bandwidth = 1
    coll.link 2 -> 0 bandwidth = 1
    coll.link 2 -> 1 bandwidth = 1
    coll.link 2 -> 3 bandwidth = 1
    coll.link 2 -> 4 bandwidth = 1
    coll.link 2 -> 5 bandwidth = 1
    coll.link 2 -> 6 bandwidth = 1
    coll.link 2 -> 7 bandwidth = 1
    coll.link 3 -> 0 bandwidth = 1
    coll.link 3 -> 1 bandwidth = 1
    coll.link 3 -> 2 bandwidth = 1
    coll.link 3 -> 4 bandwidth = 1
    coll.link 3 -> 5 bandwidth = 1
    coll.link 3 -> 6 bandwidth = 1
    coll.link 3 -> 7 bandwidth = 1
    coll.link 4 -> 0 bandwidth = 1
    coll.link 4 -> 1 bandwidth = 1
    coll.link 4 -> 2 bandwidth = 1
    coll.link 4 -> 3 bandwidth = 1
    coll.link 4 -> 5 bandwidth = 1
    coll.link 4 -> 6 bandwidth = 1
    coll.link 4 -> 7 bandwidth = 1
    coll.link 5 -> 0 bandwidth = 1
    coll.link 5 -> 1 bandwidth = 1
    coll.link 5 -> 2 bandwidth = 1
    coll.link 5 -> 3 bandwidth = 1
    coll.link 5 -> 4 bandwidth = 1
    coll.link 5 -> 6 bandwidth = 1
    coll.link 5 -> 7 bandwidth = 1
    coll.link 6 -> 0 bandwidth = 1
    coll.link 6 -> 1 bandwidth = 1
    coll.link 6 -> 2 bandwidth = 1
    coll.link 6 -> 3 bandwidth = 1
    coll.link 6 -> 4 bandwidth = 1
    coll.link 6 -> 5 bandwidth = 1
    coll.link 6 -> 7 bandwidth = 1
    coll.link 7 -> 0 bandwidth = 1
    coll.link 7 -> 1 bandwidth = 1
    coll.link 7 -> 2 bandwidth = 1
    coll.link 7 -> 3 bandwidth = 1
    coll.link 7 -> 4 bandwidth = 1
    coll.link 7 -> 5 bandwidth = 1
    coll.link 7 -> 6 bandwidth = 1
  }
  coll.schedule @all_gather of all_gather on @mesh_8 chunks = 1 {
    coll.step rounds = 1 {
      coll.send 0 over 0 -> 1
      coll.send 0 over 0 -> 2
      coll.send 0 over 0 -> 3
      coll.send 0 over 0 -> 4
      coll.send 0 over 0 -> 5
      coll.send 0 over 0 -> 6
      coll.send 0 over 0 -> 7
      coll.send 1 over 1 -> 0
      coll.send 1 over 1 -> 2
      coll.send 1 over 1 -> 3
      coll.send 1 over 1 -> 4
      coll.send 1 over 1 -> 5
      coll.send 1 over 1 -> 6
      coll.send 1 over 1 -> 7
      coll.send 2 over 2 -> 0
      coll.send 2 over 2 -> 1
      coll.send 2 over 2 -> 3
      coll.send 2 over 2 -> 4
      coll.send 2 over 2 -> 5
      coll.send 2 over 2 -> 6
      coll.send 2 over 2 -> 7
      coll.send 3 over 3 -> 0
      coll.send 3 over 3 -> 1
      coll.send 3 over 3 -> 2
      coll.send 3 over 3 -> 4
      coll.send 3 over 3 -> 5
      coll.send 3 over 3 -> 6
      coll.send 3 over 3 -> 7
      coll.send 4 over 4 -> 0
      coll.send 4 over 4 -> 1
      coll.send 4 over 4 -> 2
      coll.send 4 over 4 -> 3
      coll.send 4 over 4 -> 5
      coll.send 4 over 4 -> 6
      coll.send 4 over 4 -> 7
      coll.send 5 over 5 -> 0
      coll.send 5 over 5 -> 1
      coll.send 5 over 5 -> 2
      coll.send 5 over 5 -> 3
      coll.send 5 over 5 -> 4
      coll.send 5 over 5 -> 6
      coll.send 5 over 5 -> 7
      coll.send 6 over 6 -> 0
      coll.send 6 over 6 -> 1
      coll.send 6 over 6 -> 2
      coll.send 6 over 6 -> 3
      coll.send 6 over 6 -> 4
      coll.send 6 over 6 -> 5
      coll.send 6 over 6 -> 7
      coll.send 7 over 7 -> 0
      coll.send 7 over 7 -> 1
      coll.send 7 over 7 -> 2
      coll.send 7 over 7 -> 3
      coll.send 7 over 7 -> 4
      coll.send 7 over 7 -> 5
      coll.send 7 over 7 -> 6
    }
  }
}
