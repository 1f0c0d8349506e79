// The boxes of ranks 0 to 2: one of two and one of one.
coll.machine @mixed {
  coll.vertex gpu "a" box = 0
  coll.vertex gpu "b" box = 0
  coll.vertex gpu "c" box = 1
}
coll.topology @line ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
}
coll.schedule @bc of broadcast on @line chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}
