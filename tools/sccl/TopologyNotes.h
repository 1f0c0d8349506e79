//===- TopologyNotes.h - Notes about topologies -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_TOPOLOGYNOTES_H
#define SCCL_TOOLS_SCCL_TOPOLOGYNOTES_H

namespace sccl {
class Topology;
}

namespace sccl::driver {

/// Prints a note that names the links that no limit bounds, if there are some:
/// bounds and optimal schedules hold for a topology in which they are free.
void noteUnlimitedLinks(const Topology &topology);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_TOPOLOGYNOTES_H
