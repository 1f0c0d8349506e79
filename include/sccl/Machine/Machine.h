//===- Machine.h - What people own ------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine is the hardware as its owner knows it: GPUs, switches, network
// cards and host bridges, in boxes, joined by directed edges with GB/s and
// microseconds, each number with its source. `deriveTopology` makes of it what
// the solvers take.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_MACHINE_H
#define SCCL_MACHINE_MACHINE_H

#include "sccl/Model/Rational.h"
#include "sccl/Model/Result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sccl {

enum class VertexKind {
  Gpu,    ///< a rank: it holds data
  Switch, ///< hands on what it gets, on any of its ports
  Nic,    ///< a network card, or one port of it
  Bridge, ///< a CPU or its host bridge
  Memory, ///< of a host: stores what passes, and sends it on
};

/// "GPU", "switch", "NIC", "bridge" or "memory".
std::string_view vertexKindName(VertexKind kind);

struct Vertex {
  VertexKind kind;
  std::string name;            ///< unique in the machine
  std::optional<unsigned> box; ///< nothing for a switch between boxes
  std::string busId = {};      ///< as "0000:1b:00.0"; empty if not known
  std::string chip = {};       ///< as "sm_90" or "mlx5_0"; empty if not known
  bool multicast = false;      ///< a switch that sends one copy to many
  bool reduces = false;        ///< a switch that reduces what it gets
};

/// A number and where it comes from: a file, a data sheet, "assumed", ...
struct Quantity {
  Rational value;
  std::string source;
};

/// A directed cable, or several that act as one.
struct Edge {
  unsigned src, dst;               ///< vertices
  Quantity bandwidth;              ///< GB/s: 10^9 bytes a second
  std::optional<Quantity> latency; ///< microseconds
  std::string kind;                ///< as "NVLink4", "xGMI3", "PCIe5", "IB"
  unsigned lanes = 1;              ///< links, or lanes of PCIe, in parallel
};

/// Vertices and edges, consistent at all times.
class Machine {
public:
  /// Largest sizes accepted; they bound what an input can make us use.
  static constexpr unsigned maxVertices = 1u << 18;
  static constexpr unsigned maxEdges = 1u << 21;
  static constexpr unsigned maxBoxes = 1u << 14;
  /// GB/s, and microseconds.
  static constexpr int64_t maxQuantity = 1000000000;

  explicit Machine(std::string name) : machineName(std::move(name)) {}

  const std::string &name() const { return machineName; }
  void setName(std::string name) { machineName = std::move(name); }

  const std::vector<Vertex> &vertices() const { return allVertices; }
  const std::vector<Edge> &edges() const { return allEdges; }
  /// Indices of the edges that leave a vertex, in order of insertion.
  const std::vector<unsigned> &outEdges(unsigned vertex) const {
    return out[vertex];
  }
  /// The vertices that are GPUs. Rank i is the i-th of them.
  const std::vector<unsigned> &gpus() const { return gpuVertices; }
  /// The vertices that are GPUs, and those that are memories after them.
  std::vector<unsigned> gpusAndMemories() const;
  /// One more than the largest number of a box; 0 if no vertex is in a box.
  unsigned numBoxes() const { return boxes; }
  /// How many vertices are of this kind.
  unsigned count(VertexKind kind) const;
  std::optional<unsigned> findVertex(std::string_view name) const;
  std::optional<unsigned> findEdge(unsigned src, unsigned dst) const;

  /// Adds a vertex and returns its index. Fails if its name is empty or taken,
  /// its bus id is taken in its box, it is in no box but no switch, the box is
  /// `maxBoxes` or more, something other than a switch has a switch's flags,
  /// or there are too many.
  Result<unsigned> addVertex(Vertex vertex);
  /// Adds an edge and returns its index. Fails on an unknown vertex, a loop, an
  /// edge that is there already, a bandwidth that is not positive, numbers over
  /// `maxQuantity`, no lane, or too many edges.
  Result<unsigned> addEdge(Edge edge);
  /// Adds an edge and the one back, alike.
  Result<unsigned> addEdgePair(const Edge &edge);

  /// Assumptions and doubts about the whole machine, for whoever prints it.
  const std::vector<std::string> &notes() const { return allNotes; }
  void addNote(std::string note) { allNotes.push_back(std::move(note)); }

private:
  std::string machineName;
  std::vector<Vertex> allVertices;
  std::vector<Edge> allEdges;
  std::vector<std::vector<unsigned>> out;
  std::vector<unsigned> gpuVertices;
  std::vector<std::string> allNotes;
  std::map<std::string, unsigned, std::less<>> byName;
  std::map<std::pair<unsigned, std::string>, unsigned> byBusId;
  std::unordered_map<uint64_t, unsigned> byEnds;
  unsigned boxes = 0;
};

/// True for what joins GPUs to hosts: PCIe of any generation, and links between
/// CPUs ("host"). Routes prefer other kinds.
bool isHostKind(std::string_view kind);

/// The ranks of each box, in the order of boxes; those without GPUs are left
/// out. With `withMemories`, ranks are `gpusAndMemories()`.
std::vector<std::vector<unsigned>> ranksByBox(const Machine &machine,
                                              bool withMemories = false);

/// What a person can check a machine by: its parts, box by box, and its edges
/// by kind, with numbers and sources. Boxes that are alike are said once.
std::string describe(const Machine &machine);

} // namespace sccl

#endif // SCCL_MACHINE_MACHINE_H
