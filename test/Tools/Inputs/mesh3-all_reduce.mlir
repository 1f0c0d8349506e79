coll.topology @mesh3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 0 -> 2 unlimited
  coll.link 1 -> 0 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 2 -> 1 unlimited
}
coll.schedule @direct of all_reduce on @mesh3 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 1 -> 2
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 2 -> 1
  }
}
