coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 bandwidth = 1
}
coll.schedule @sum of reduce on @pair chunks = 2 root = 0 {
  coll.step rounds = 2 {
    coll.reduce 0 over 1 -> 0
    coll.reduce 1 over 1 -> 0
  }
}
