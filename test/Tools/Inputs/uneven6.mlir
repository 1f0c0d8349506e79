// Bandwidths that have little in common, and differ by direction.
coll.topology @uneven ranks = 6 {
  coll.link 0 -> 1 bandwidth = 450
  coll.link 1 -> 0 bandwidth = 450
  coll.link 1 -> 2 bandwidth = 50
  coll.link 2 -> 1 bandwidth = 50
  coll.link 2 -> 3 bandwidth = 450
  coll.link 3 -> 2 bandwidth = 450
  coll.link 3 -> 4 bandwidth = 50
  coll.link 4 -> 3 bandwidth = 50
  coll.link 4 -> 5 bandwidth = 450
  coll.link 5 -> 4 bandwidth = 450
  coll.link 5 -> 0 bandwidth = 396
  coll.link 0 -> 5 bandwidth = 48
}
