coll.topology @line4 ranks = 4 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
  coll.link 3 -> 2 unlimited
}
coll.schedule @sum of reduce on @line4 chunks = 2 root = 2 {
  coll.step rounds = 2 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 1 over 0 -> 1
    coll.reduce 1 over 3 -> 2
  }
  coll.step rounds = 2 {
    coll.reduce 0 over 1 -> 2
    coll.reduce 1 over 1 -> 2
    coll.reduce 0 over 3 -> 2
  }
}
