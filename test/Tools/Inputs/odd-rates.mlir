// 27.501 and 50 GB/s have no small measure: a topology of them is rounded.
coll.machine @odd {
  coll.vertex gpu "gpu0" box = 0
  coll.vertex gpu "gpu1" box = 0
  coll.vertex gpu "gpu2" box = 0
  coll.edge "gpu0" -> "gpu1" both_ways bandwidth = "27.501" from "test" kind = "NVLink4"
  coll.edge "gpu1" -> "gpu2" both_ways bandwidth = "50" from "test" kind = "NVLink4"
  coll.edge "gpu0" -> "gpu2" both_ways bandwidth = "27.501" from "test" kind = "NVLink4"
}
