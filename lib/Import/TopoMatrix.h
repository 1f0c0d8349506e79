//===- TopoMatrix.h - The table of nvidia-smi topo -m -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_TOPOMATRIX_H
#define SCCL_LIB_IMPORT_TOPOMATRIX_H

#include "Readers.h"
#include "Text.h"

#include <map>

namespace sccl::import {

/// How near two devices are, the nearest first.
enum Nearness { Self, NVLink, OneSwitch, Switches, HostBridge, Numa, System };

struct Cell {
  Nearness nearness;
  unsigned links = 0; ///< of NVLink
  Place place;
};

/// The table as it stands there.
struct Matrix {
  std::vector<std::string> devices;
  Place header;
  bool hasNuma = false, isP2p = false;
  std::vector<std::vector<std::optional<Cell>>> cells;
  std::vector<bool> hasRow;
  std::vector<std::string> numa; ///< of each row; empty if not said
  std::vector<std::string> p2p;  ///< distinct states, for topo -p2p
  unsigned numRefused = 0;       ///< cells of topo -p2p other than OK
  std::map<std::string, std::string> legend; ///< "mlx5_0" of "NIC0"
};

/// The table of a file. Fails, with the place, where it is cut or contradicts
/// itself.
Result<Matrix> parseMatrix(const ImportFile &file);

/// The words of a line of the table. Where the tabs between them were lost they
/// are told apart by what they can be: "NIC11NIC12", "PXBNODE".
std::vector<Word> matrixWords(const Line &line);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_TOPOMATRIX_H
