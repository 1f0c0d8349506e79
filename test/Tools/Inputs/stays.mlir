// A schedule that does nothing in its step, for a collective that moves nothing.
coll.topology @ring ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
}
coll.collective @stay ranks = 3 chunks = 1 distinct = 3 {
  coll.pre 0 has [0]
  coll.pre 1 has [1]
  coll.pre 2 has [2]
  coll.post 0 has [0]
  coll.post 1 has [1]
  coll.post 2 has [2]
}
coll.schedule @idle of @stay on @ring chunks = 1 {
  coll.step rounds = 1 {
  }
}
