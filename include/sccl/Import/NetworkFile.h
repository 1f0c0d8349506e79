//===- NetworkFile.h - A network between boxes from YAML -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   switches:
//     leaf0: {boxes: 0-3}
//     leaf1: {boxes: 4-7, nics: 0-3}
//     spine: {}
//   uplinks:
//     - {from: leaf0, to: spine, gbps: 400, count: 8}
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_IMPORT_NETWORKFILE_H
#define SCCL_IMPORT_NETWORKFILE_H

#include "sccl/Import/Import.h"
#include "sccl/Machine/Network.h"

namespace sccl {

/// Reads such a file, or the same as JSON. Numbers of boxes and NICs are lists
/// of numbers and ranges. Fails, with the place, on a field that it does not
/// know, a number that is none, an uplink of a switch that is not there, or
/// from a switch to itself.
Result<Network> readNetwork(const ImportFile &file);

} // namespace sccl

#endif // SCCL_IMPORT_NETWORKFILE_H
