coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.schedule @exchange of all_reduce on @pair chunks = 3 {
  coll.step rounds = 3 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 1 over 0 -> 1
    coll.reduce 2 over 0 -> 1
    coll.reduce 0 over 1 -> 0
    coll.reduce 1 over 1 -> 0
    coll.reduce 2 over 1 -> 0
  }
}
