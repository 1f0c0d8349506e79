// What goes from gpu0 to gpu1 is split over two switches, what goes from there
// to the others is not. Switch 0 multicasts.
coll.machine @uneven {
  coll.vertex gpu "gpu0" box = 0
  coll.vertex gpu "gpu1" box = 0
  coll.vertex gpu "gpu2" box = 0
  coll.vertex gpu "gpu3" box = 0
  coll.vertex switch "switch0" box = 0 multicast
  coll.vertex switch "switch1" box = 0
  coll.vertex bridge "cpu" box = 0
  coll.edge "gpu0" -> "switch0" both_ways bandwidth = "40" from "test" kind = "NVLink4"
  coll.edge "gpu0" -> "switch1" both_ways bandwidth = "40" from "test" kind = "NVLink4"
  coll.edge "gpu1" -> "switch0" both_ways bandwidth = "40" from "test" kind = "NVLink4"
  coll.edge "gpu1" -> "switch1" both_ways bandwidth = "40" from "test" kind = "NVLink4"
  coll.edge "gpu2" -> "switch0" both_ways bandwidth = "40" from "test" kind = "NVLink4"
  coll.edge "gpu3" -> "switch1" both_ways bandwidth = "40" from "test" kind = "NVLink4"
  coll.edge "gpu0" -> "cpu" both_ways bandwidth = "16" from "test" kind = "PCIe3"
  coll.edge "gpu1" -> "cpu" both_ways bandwidth = "16" from "test" kind = "PCIe3"
}
