coll.machine @cut {
  coll.vertex gpu "a" box = 0
  coll.vertex gpu "b" box = 0
  coll.vertex gpu "c" box = 0
  coll.edge "a" -> "b" both_ways bandwidth = "50" from "x" kind = "NVLink4"
}
