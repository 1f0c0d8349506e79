// Of two chunks rank 0 sends the second to rank 1, where the collective of the
// same name in pair-user-defined.mlir has one.
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.collective @handover ranks = 2 chunks = 1 distinct = 2 {
  coll.pre 0 has [1]
  coll.post 1 has [1]
}
coll.schedule @move of @handover on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.send 1 over 0 -> 1
  }
}
