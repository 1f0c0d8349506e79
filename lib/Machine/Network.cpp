//===- Network.cpp - Switches between boxes -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Network.h"

#include "sccl/Machine/Units.h"

#include <map>

using namespace sccl;

namespace {
/// A NIC, and the cable to the network that it had.
struct Port {
  unsigned vertex; ///< in the new machine
  std::optional<Edge> cable;
  std::optional<unsigned> at = {}; ///< switch of the network
};

class NetworkBuilder {
public:
  NetworkBuilder(const Machine &machine, const Network &network)
      : machine(machine), network(network), result(machine.name()) {}
  Result<Machine> run();

private:
  void copyBoxes();
  std::optional<Error> assignPorts();
  std::optional<Error> assignPort(unsigned number, unsigned box, unsigned nic);
  std::optional<Error> addCables();

  const Machine &machine;
  const Network &network;
  Machine result;
  std::vector<std::vector<Port>> portsOf; ///< by box
};
} // namespace

/// Copies what is within boxes, and takes down how fast each NIC was joined to
/// what is not.
void NetworkBuilder::copyBoxes() {
  portsOf.resize(machine.numBoxes());
  std::vector<std::optional<unsigned>> newNumber(machine.vertices().size());
  std::map<unsigned, Edge> cableOf;
  for (unsigned v = 0; v < newNumber.size(); ++v)
    if (machine.vertices()[v].box)
      newNumber[v] = *result.addVertex(machine.vertices()[v]);
  for (const Edge &edge : machine.edges()) {
    if (newNumber[edge.src] && newNumber[edge.dst]) {
      Edge copy = edge;
      copy.src = *newNumber[edge.src];
      copy.dst = *newNumber[edge.dst];
      (void)*result.addEdge(std::move(copy));
    } else if (auto [it, isNew] = cableOf.try_emplace(edge.src, edge);
               it->second.bandwidth.value < edge.bandwidth.value) {
      it->second = edge;
    }
  }
  for (unsigned v = 0; v < newNumber.size(); ++v)
    if (const Vertex &nic = machine.vertices()[v];
        nic.kind == VertexKind::Nic) {
      auto cable = cableOf.find(v);
      portsOf[*nic.box].push_back(
          {*newNumber[v], cable == cableOf.end()
                              ? std::nullopt
                              : std::optional(cable->second)});
    }
}

std::optional<Error> NetworkBuilder::assignPort(unsigned number, unsigned box,
                                                unsigned nic) {
  const std::string &name = network.switches[number].name;
  if (nic >= portsOf[box].size())
    return Error{"switch '" + name + "' has NIC " + std::to_string(nic) +
                 " of box " + std::to_string(box) + ", which has " +
                 std::to_string(portsOf[box].size())};
  Port &port = portsOf[box][nic];
  if (port.at)
    return Error{"NIC " + std::to_string(nic) + " of box " +
                 std::to_string(box) + " is at switch '" +
                 network.switches[*port.at].name + "' and at switch '" + name +
                 "'"};
  port.at = number;
  return std::nullopt;
}

std::optional<Error> NetworkBuilder::assignPorts() {
  for (unsigned number = 0; number < network.switches.size(); ++number)
    for (unsigned box : network.switches[number].boxes) {
      const NetworkSwitch &at = network.switches[number];
      if (box >= portsOf.size())
        return Error{"switch '" + at.name + "' has NICs of box " +
                     std::to_string(box) + ", and the machine has " +
                     std::to_string(portsOf.size()) + " boxes"};
      std::vector<unsigned> nics = at.nics;
      for (unsigned nic = 0; at.nics.empty() && nic < portsOf[box].size();
           ++nic)
        nics.push_back(nic);
      for (unsigned nic : nics)
        if (std::optional<Error> error = assignPort(number, box, nic))
          return error;
    }
  for (unsigned box = 0; box < portsOf.size(); ++box)
    for (unsigned nic = 0; nic < portsOf[box].size(); ++nic)
      if (!portsOf[box][nic].at)
        return Error{"NIC " + std::to_string(nic) + " of box " +
                     std::to_string(box) + " is at no switch"};
  return std::nullopt;
}

std::optional<Error> NetworkBuilder::addCables() {
  std::vector<unsigned> switches;
  for (const NetworkSwitch &one : network.switches) {
    Result<unsigned> added =
        result.addVertex({VertexKind::Switch, one.name, std::nullopt});
    if (!added)
      return Error{added.error()};
    switches.push_back(*added);
  }
  for (const std::vector<Port> &ports : portsOf)
    for (const Port &port : ports) {
      if (!port.cable)
        return Error{"the rate of '" + result.vertices()[port.vertex].name +
                     "' is not known: it led out of no box"};
      Edge cable = *port.cable;
      cable.src = port.vertex;
      cable.dst = switches[*port.at];
      if (Result<unsigned> added = result.addEdgePair(cable); !added)
        return Error{added.error()};
    }
  for (const NetworkUplink &uplink : network.uplinks) {
    auto rate = product(uplink.gigabits, Rational(uplink.count, 8));
    if (!rate)
      return Error{"the rate of an uplink is too fine to be counted exactly"};
    if (Result<unsigned> added = result.addEdgePair({switches[uplink.a],
                                                     switches[uplink.b],
                                                     {*rate, network.source},
                                                     std::nullopt,
                                                     "network",
                                                     uplink.count});
        !added)
      return Error{added.error()};
  }
  return std::nullopt;
}

Result<Machine> NetworkBuilder::run() {
  if (machine.numBoxes() < 2)
    return Error{"machine '" + machine.name() +
                 "' has one box, which no network joins to others"};
  copyBoxes();
  for (auto step : {&NetworkBuilder::assignPorts, &NetworkBuilder::addCables})
    if (std::optional<Error> error = (this->*step)())
      return *error;
  for (const std::string &note : machine.notes())
    result.addNote(note);
  return std::move(result);
}

Result<Machine> sccl::withNetwork(const Machine &machine,
                                  const Network &network) {
  return NetworkBuilder(machine, network).run();
}
