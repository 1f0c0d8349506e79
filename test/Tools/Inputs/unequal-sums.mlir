// Sums of the inputs of some ranks each, for some ranks each, on links of one direction.
coll.topology @oneway ranks = 5 {
  coll.link 2 -> 0 bandwidth = 1
  coll.link 0 -> 4 bandwidth = 2
  coll.link 4 -> 3 bandwidth = 1
  coll.link 3 -> 1 bandwidth = 2
  coll.link 1 -> 2 bandwidth = 3
  coll.link 1 -> 4 bandwidth = 2
  coll.link 4 -> 1 bandwidth = 2
}
coll.collective @some ranks = 5 chunks = 1 distinct = 4 combining {
  coll.pre 0 has [1, 2, 3]
  coll.pre 1 has [0, 2, 3]
  coll.pre 2 has [0, 1, 2]
  coll.pre 3 has [2, 3]
  coll.pre 4 has [1, 2, 3]
  coll.post 0 has [0, 1, 2, 3]
  coll.post 1 has [0, 1, 3]
  coll.post 2 has [0, 1, 2, 3]
  coll.post 3 has [1, 2, 3]
  coll.post 4 has [0, 1, 3]
}
