// Each of the first three ranks has a chunk for the next, and the last one is for all.
coll.collective @shift ranks = 4 chunks = 1 distinct = 4 {
  coll.pre 0 has [0]
  coll.pre 1 has [1]
  coll.pre 2 has [2]
  coll.pre 3 has [3]
  coll.post 0 has [2, 3]
  coll.post 1 has [0, 3]
  coll.post 2 has [1, 3]
}

// Two sums, at opposite ranks.
coll.collective @sums ranks = 4 chunks = 1 distinct = 2 combining {
  coll.pre 0 has [0, 1]
  coll.pre 1 has [0, 1]
  coll.pre 2 has [0, 1]
  coll.pre 3 has [0, 1]
  coll.post 0 has [0]
  coll.post 2 has [1]
}

coll.grouped @halves of all_gather ranks = 4 chunks = 1 groups = [[0, 1], [2, 3]]
