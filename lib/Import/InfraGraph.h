//===- InfraGraph.h - Devices, instances and edges --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// InfraGraph describes devices by components and edges between ranges of them,
// and an infrastructure by instances of devices and edges between those. Here
// is its flat form: a node for each component of each instance.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_INFRAGRAPH_H
#define SCCL_LIB_IMPORT_INFRAGRAPH_H

#include "Readers.h"
#include "Yaml.h"

#include <map>

namespace sccl::import {

struct GraphNode {
  std::string name;     ///< as "host.0.xpu.3"
  std::string kind;     ///< as "xpu", "switch", "port"
  std::string instance; ///< as "host.0"
};

/// True for the kinds of components that take part in collectives.
bool isAccelerator(llvm::StringRef kind);

/// One of them, or neither.
struct WireRate {
  std::optional<Rational> gigabytes; ///< GB/s
  std::optional<Rational> transfers; ///< GT/s, of each lane
};

struct GraphEdge {
  unsigned a, b;     ///< nodes
  std::string link;  ///< its name
  std::string about; ///< its description
  WireRate rate;
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::vector<std::string> instances;     ///< in order
  std::map<std::string, unsigned> counts; ///< of instances, by name
  std::vector<std::string> warnings;
};

/// Expands all instances of all files, or the one device with accelerators if
/// there are no instances that can be expanded.
Result<Graph> expandGraph(const std::vector<YamlNode> &files);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_INFRAGRAPH_H
