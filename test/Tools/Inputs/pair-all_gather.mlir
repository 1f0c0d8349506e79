module {
  coll.topology @mesh_2 ranks = 2 {
    coll.link 0 -> 1 bandwidth = 1
    coll.link 1 -> 0 bandwidth = 1
  }
  coll.schedule @all_gather of all_gather on @mesh_2 chunks = 1 {
    coll.step rounds = 1 {
      coll.send 0 over 0 -> 1
      coll.send 1 over 1 -> 0
    }
  }
}
