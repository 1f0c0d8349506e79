//===- Network.h - Switches between boxes ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rails and one core are networks that do not block. A `Network` is any other
// one: leaf switches with fewer uplinks than ports, boxes with unlike cabling,
// rails that meet in a spine.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_NETWORK_H
#define SCCL_MACHINE_NETWORK_H

#include "sccl/Machine/Machine.h"

namespace sccl {

struct NetworkSwitch {
  std::string name;
  std::vector<unsigned> boxes; ///< whose NICs hang at it
  std::vector<unsigned> nics;  ///< numbers within each box; empty: all
};

/// Cables between two switches of a network.
struct NetworkUplink {
  unsigned a, b;     ///< switches
  Rational gigabits; ///< Gb/s of one cable, each direction
  unsigned count;    ///< cables
};

struct Network {
  std::string source; ///< of its numbers: a file
  std::vector<NetworkSwitch> switches;
  std::vector<NetworkUplink> uplinks;
};

/// `machine` with `network` in place of the switches that joined its boxes;
/// NICs keep their rates. Fails if the machine has one box only, a box or a NIC
/// of the network is not in it, and unless each NIC hangs at one switch.
Result<Machine> withNetwork(const Machine &machine, const Network &network);

} // namespace sccl

#endif // SCCL_MACHINE_NETWORK_H
