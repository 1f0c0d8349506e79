// Rank 0 sends its one chunk to rank 1, and nothing else happens.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.collective @handover ranks = 2 chunks = 1 distinct = 1 {
  coll.pre 0 has [0]
  coll.post 1 has [0]
}
coll.schedule @move of @handover on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
