coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.schedule @halves of all_reduce on @pair chunks = 2 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
    coll.reduce 1 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}
