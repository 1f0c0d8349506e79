module {
  coll.topology @mesh_2 ranks = 2 {
    coll.link 0 -> 1 bandwidth = 1
    coll.link 1 -> 0 bandwidth = 1
  }
  coll.schedule @all_to_all of all_to_all on @mesh_2 chunks = 2 {
    coll.step rounds = 1 {
      coll.send 1 over 0 -> 1
      coll.send 2 over 1 -> 0
    }
  }
}
