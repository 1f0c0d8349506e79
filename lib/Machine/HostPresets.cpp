//===- HostPresets.cpp - Boxes whose cards meet in their host -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PresetRows.h"

using namespace sccl;

namespace {
/// Adds parts to a machine of one box, as far as nothing went wrong before.
class HostBuilder {
public:
  explicit HostBuilder(Machine &machine) : machine(machine) {}

  unsigned add(VertexKind kind, std::string name) {
    return check(machine.addVertex({kind, std::move(name), 0}));
  }
  /// One way.
  void join(unsigned src, unsigned dst, Edge edge) {
    edge.src = src;
    edge.dst = dst;
    check(machine.addEdge(std::move(edge)));
  }
  void joinBoth(unsigned a, unsigned b, Edge edge) {
    edge.src = a;
    edge.dst = b;
    check(machine.addEdgePair(edge));
  }
  unsigned gpu(unsigned rank) const { return machine.gpus()[rank]; }
  unsigned numGpus() const { return unsigned(machine.gpus().size()); }

  /// The first error.
  std::optional<Error> error;

private:
  unsigned check(const Result<unsigned> &added) {
    if (!added && !error)
      error = Error{added.error()};
    return added ? *added : 0;
  }
  Machine &machine;
};
} // namespace

/// Edges without ends.
static Edge wire(Rational rate, std::string source, std::string kind,
                 unsigned lanes = 1) {
  return {0,    0, {rate, std::move(source)}, std::nullopt, std::move(kind),
          lanes};
}

static std::string numbered(const char *name, unsigned number) {
  return name + std::to_string(number);
}

/// The host bridges through which the two islands of a Z52 meet.
std::optional<Error> sccl::addZ52Host(Machine &machine, const PresetSpec &) {
  constexpr unsigned numaOf[8] = {1, 0, 1, 2, 3, 1, 2, 3};
  HostBuilder host(machine);
  std::vector<unsigned> bridges;
  for (unsigned numa = 0; numa < 4; ++numa) {
    unsigned bridge = host.add(VertexKind::Bridge, numbered("numa", numa));
    for (unsigned other : bridges)
      host.joinBoth(other, bridge,
                    wire(108, "assumed not to limit 4 GPUs", "host"));
    bridges.push_back(bridge);
  }
  for (unsigned rank = 0; rank < host.numGpus(); ++rank)
    host.joinBoth(host.gpu(rank), bridges[numaOf[rank]],
                  wire(27, "PCIe 4 x16, as measured there", "PCIe4", 16));
  return host.error;
}

/// One PCIe switch for 4 cards; for 8 cards one for two, with uplinks to two
/// sockets.
std::optional<Error> sccl::addPcieTree(Machine &machine, const PresetSpec &) {
  HostBuilder host(machine);
  bool isSmall = host.numGpus() == 4;
  Edge slot = isSmall ? wire(Rational(1024, 65), "PCI-SIG", "PCIe3", 16)
                      : wire(32, "OptCCL", "PCIe4", 16);
  unsigned cards = isSmall ? 4 : 2;
  std::vector<unsigned> sockets;
  for (unsigned number = 0; !isSmall && number < 2; ++number)
    sockets.push_back(host.add(VertexKind::Bridge, numbered("numa", number)));
  if (!isSmall)
    host.joinBoth(sockets[0], sockets[1], wire(96, "OptCCL", "host"));
  for (unsigned rank = 0; rank < host.numGpus(); rank += cards) {
    unsigned pcie =
        host.add(VertexKind::Switch, numbered("pcie", rank / cards));
    for (unsigned card = rank; card < rank + cards; ++card)
      host.joinBoth(host.gpu(card), pcie, slot);
    if (!isSmall)
      host.joinBoth(pcie, sockets[rank / 4], slot);
  }
  return host.error;
}

/// Slots lead to the memory of the host, which limits them no further, and to a
/// NIC each.
std::optional<Error> sccl::addH800Slots(Machine &machine, const PresetSpec &) {
  HostBuilder host(machine);
  const Edge slot = wire(64, "FlexLink", "PCIe5", 16);
  unsigned memory = host.add(VertexKind::Memory, "memory");
  for (unsigned rank = 0; rank < host.numGpus(); ++rank) {
    unsigned port = host.add(VertexKind::Switch, numbered("slot", rank));
    unsigned nic = host.add(VertexKind::Nic, numbered("nic", rank));
    host.joinBoth(host.gpu(rank), port, slot);
    host.joinBoth(port, memory, slot);
    host.joinBoth(port, nic, wire(50, "FlexLink", "PCIe5", 16));
  }
  return host.error;
}

/// Two GPUs on each PCIe switch. Memories are reached by way of `writers`, and
/// left by way of `readers`, of each socket: cards do not reach each other.
/// OptCCL bounds what enters and leaves a memory together, and so what goes to
/// and comes from the other socket; here each has one half.
std::optional<Error> sccl::addOptcclDgx(Machine &machine,
                                        const PresetSpec &spec) {
  HostBuilder host(machine);
  if (!spec.has("pcie") && !spec.has("both"))
    return std::nullopt;
  const Edge slot = wire(32, "OptCCL", "PCIe4", 16);
  const Edge half = wire(100, "half of OptCCL's 200 GB/s both ways", "host");
  const Edge across = wire(48, "half of OptCCL's 96 GB/s", "host");
  std::vector<unsigned> writers, readers;
  for (unsigned socket = 0; spec.has("pcie") && socket < 2; ++socket) {
    writers.push_back(host.add(VertexKind::Bridge, numbered("writer", socket)));
    readers.push_back(host.add(VertexKind::Bridge, numbered("reader", socket)));
    unsigned memory = host.add(VertexKind::Memory, numbered("memory", socket));
    unsigned into = host.add(VertexKind::Bridge, numbered("into", socket));
    unsigned from = host.add(VertexKind::Bridge, numbered("from", socket));
    host.join(into, memory, half);
    host.join(memory, from, half);
  }
  for (unsigned socket = 0; socket < writers.size(); ++socket)
    for (unsigned other = 0; other < 2; ++other) {
      const Edge &edge = other == socket ? half : across;
      auto port = [&](const char *name) {
        return *machine.findVertex(numbered(name, other));
      };
      host.join(writers[socket], port("into"), edge);
      host.join(port("from"), readers[socket], edge);
    }
  for (unsigned rank = 0; rank < host.numGpus(); rank += 2) {
    unsigned pcie = host.add(VertexKind::Switch, numbered("pcie", rank / 2));
    host.joinBoth(host.gpu(rank), pcie, slot);
    host.joinBoth(host.gpu(rank + 1), pcie, slot);
    if (!writers.empty()) {
      host.join(pcie, writers[rank / 4], slot);
      host.join(readers[rank / 4], pcie, slot);
    }
  }
  return host.error;
}

/// Each GPU with a slot of its own to four memories, which it does not pass on
/// the way to another GPU. OptCCL bounds what enters and leaves a memory
/// together by 50 GB/s; here a quarter of that may enter, since three read what
/// one writes.
std::optional<Error> sccl::addOptcclDoe(Machine &machine,
                                        const PresetSpec &spec) {
  HostBuilder host(machine);
  if (!spec.has("pcie") && !spec.has("both"))
    return std::nullopt;
  const Edge slot = wire(32, "OptCCL", "PCIe4", 16);
  unsigned writer = host.add(VertexKind::Bridge, "writer");
  unsigned reader = host.add(VertexKind::Bridge, "reader");
  for (unsigned rank = 0; rank < host.numGpus(); ++rank) {
    unsigned memory = host.add(VertexKind::Memory, numbered("memory", rank));
    host.join(writer, memory,
              wire(13, "of OptCCL's 50 GB/s both ways", "host"));
    host.join(memory, reader,
              wire(37, "of OptCCL's 50 GB/s both ways", "host"));
    host.join(host.gpu(rank), writer, slot);
    host.join(reader, host.gpu(rank), slot);
  }
  return host.error;
}
