//===- PresetBuilder.h - Boxes, and networks between them -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_PRESETBUILDER_H
#define SCCL_LIB_MACHINE_PRESETBUILDER_H

#include "sccl/Machine/Machine.h"

namespace sccl {

/// What kind of links a box has, and how fast one is.
struct PresetLink {
  std::string kind;   ///< as "NVLink4"
  Rational perLink;   ///< GB/s of one link in one direction
  std::string source; ///< of the number
};

/// A pair of GPUs of a box, both ways.
struct LinkPair {
  unsigned a, b, links;
};

/// One box: GPUs, and switches or links between them.
struct BoxPlan {
  unsigned numGpus = 0;
  std::string chip;
  PresetLink link;
  std::vector<LinkPair> pairs = {};
  /// Switch chips that join all GPUs, and the links from each GPU to each.
  unsigned switches = 0, linksPerSwitch = 0;
  bool inNetwork = false; ///< the switches multicast and reduce
};

/// Which GPUs of those that share a NIC use it.
enum class NicUse {
  All,      ///< all of them, both ways
  OddToEven ///< the second sends, the first receives
};

/// The NICs of a box, and what joins boxes.
struct NetworkPlan {
  Rational perNic;            ///< GB/s
  std::string kind;           ///< as "IB"
  std::string source;         ///< of the number
  unsigned gpusPerNic = 1;    ///< neighbours that share a NIC
  std::vector<unsigned> nics; ///< only these exist; empty: all
  NicUse use = NicUse::All;
  bool hasRails = true; ///< NIC i reaches NIC i; else all reach all
};

/// What a spec stands for.
struct MachinePlan {
  BoxPlan box;
  NetworkPlan network = {0, "IB", "data sheet", 1, {}, NicUse::All, true};
};

/// A NIC of so many GB/s for each GPU, on rails.
NetworkPlan oneNicPerGpu(Rational gigabytes);

/// GPUs that are all joined to all switches.
MachinePlan onSwitches(unsigned gpus, std::string chip, PresetLink link,
                       unsigned switches, unsigned linksPerSwitch,
                       bool inNetwork, Rational nic);

/// GPUs of which every two are joined.
MachinePlan fullyJoined(unsigned gpus, std::string chip, PresetLink link,
                        unsigned links, Rational nic);

/// A grid that wraps around; `links[d]` join neighbours in dimension d. Where
/// an extent is 2 both ways round are the same links.
MachinePlan torus(std::string chip, PresetLink link,
                  const std::vector<unsigned> &extents,
                  const std::vector<unsigned> &links);

/// `numBoxes` boxes of `box`; with more than one, joined by `network`. `name`
/// becomes the machine's. Fails where the machine would get too large.
Result<Machine> buildBoxes(std::string name, unsigned numBoxes,
                           const BoxPlan &box, const NetworkPlan &network);

} // namespace sccl

#endif // SCCL_LIB_MACHINE_PRESETBUILDER_H
