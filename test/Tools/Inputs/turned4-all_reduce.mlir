// Every rank adds its neighbour's input, and then the sum of the other two: each
// pairs others, so no order of summation makes all agree.
coll.topology @mesh4 ranks = 4 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 3 bandwidth = 1
  coll.link 3 -> 0 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 3 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 3 -> 1 bandwidth = 1
}
coll.schedule @turned of all_reduce on @mesh4 chunks = 1 {
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 1 -> 2
    coll.reduce 0 over 2 -> 3
    coll.reduce 0 over 3 -> 0
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 3
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 3 -> 1
  }
}
