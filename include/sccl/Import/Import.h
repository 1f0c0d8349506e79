//===- Import.h - Machines from what tools print ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader per format makes a `Reading`: what the file says, and nothing else.
// `assembleMachine` makes a machine of one or more readings; each number that
// it has to add carries its source, "assumed" if there is none.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_IMPORT_IMPORT_H
#define SCCL_IMPORT_IMPORT_H

#include "sccl/Machine/Machine.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl {

enum class ImportFormat {
  NcclXml,      ///< NCCL_TOPO_DUMP_FILE, of NCCL or RCCL
  NcclLog,      ///< NCCL_DEBUG=INFO with the subsystem GRAPH
  TopoMatrix,   ///< nvidia-smi topo -m, or -p2p
  NvlinkStatus, ///< nvidia-smi nvlink -s, or -R
  NvidiaSmiXml, ///< nvidia-smi -q -x
  RocmSmi,      ///< rocm-smi --showtopo
  AmdSmi,       ///< amd-smi topology, its text
  AmdSmiJson,   ///< amd-smi topology --json
  AmdXgmi,      ///< amd-smi xgmi, its text or --json
  HwlocXml,     ///< lstopo file.xml
  Taccl,        ///< topology or sketch of TACCL
  TeCcl,        ///< input of TE-CCL
  InfraGraph,   ///< YAML or JSON
};

/// From "nccl-xml", "topo-m", ..., the spelling of --format.
std::optional<ImportFormat> parseImportFormat(llvm::StringRef name);
/// All names, joined by commas.
std::string importFormatNames();

/// A file and where it came from.
struct ImportFile {
  std::string path;
  std::string text;
};

/// Which of the vertices of a box two things have in common on their way: a
/// PCIe switch, a host bridge. The first one has no parent.
struct HostReading {
  VertexKind kind; ///< Switch or Bridge
  std::string name;
  std::optional<unsigned> parent; ///< index in `Reading::hosts`
  Quantity toParent = {};         ///< GB/s
  std::string kindToParent = {};  ///< as "PCIe4", "host"
  unsigned lanes = 1;
  unsigned box = 0; ///< of the reading
};

/// A GPU or a NIC.
struct DeviceReading {
  unsigned number; ///< the tool's number
  /// Empty where the file has none.
  std::string name = {}, busId = {}, chip = {};
  std::optional<unsigned> host = {};   ///< index in `Reading::hosts`
  std::optional<Quantity> toHost = {}; ///< GB/s
  std::string kindToHost = "PCIe";     ///< as "PCIe4"
  std::optional<Rational> gbps = {};   ///< of a NIC: Gb/s
  unsigned lanes = 1;
  unsigned box = 0; ///< of the reading
  /// Of several ranks on one GPU, the index of the first: links and the slot
  /// are those of the first, for all of them.
  std::optional<unsigned> sharedWith = {};
  std::string rateSource = "speed in the file"; ///< of `gbps`
};

/// Links between two GPUs, a GPU and a switch, or a GPU and a host. `a` and `b`
/// are indices in the lists of the reading.
struct LinkReading {
  unsigned a, b;
  std::optional<unsigned> links = {};
  std::optional<Quantity> bandwidth =
      {}; ///< GB/s of all of them, each direction
};

/// State of NVLink per GPU, from nvidia-smi nvlink -s.
struct LinkStatusReading {
  std::string gpu = {}; ///< as "NVIDIA H100 PCIe"
  unsigned active = 0, inactive = 0;
  std::optional<Rational> perLink = {}; ///< GB/s, the least of the active ones
};

/// What a file says of one box, of several that links join, or of a whole
/// cluster.
struct Reading {
  std::string path;
  ImportFormat format;
  std::string formatDetail; ///< as "nccl topo xml v1"
  std::string vendor;       ///< "nvidia", "amd" or empty
  std::optional<unsigned> numGpus = {}, numNics = {}, linksPerGpu = {};
  std::optional<bool> hasSwitch = {};
  unsigned numBoxes = 1;
  /// Nothing if the file does not say how GPUs are joined.
  std::optional<std::vector<LinkReading>> pairs = {};
  std::vector<DeviceReading> gpus = {}, nics = {};
  std::vector<std::string> switches = {};    ///< their names
  std::vector<LinkReading> switchLinks = {}; ///< a: GPU, b: switch
  std::vector<LinkReading> hostLinks = {};   ///< a: GPU, b: host
  std::vector<HostReading> hosts = {};
  std::vector<LinkStatusReading> status = {};
  /// More of what the file says, for --json.
  llvm::json::Object extras = {};
  /// Of nvidia-smi topo -p2p: pairs of GPUs without access to each other.
  std::optional<unsigned> pairsWithoutAccess = {};
  /// Degraded or inactive links, doubts.
  std::vector<std::string> warnings = {};
  std::vector<std::string> assumptions = {};
  /// The machine, if the file describes all of it.
  std::optional<Machine> cluster = {};
  /// Why there can be no machine, if so.
  std::string noMachine = {};
};

/// What a file does not say, and its owner does.
struct ImportOptions {
  std::optional<ImportFormat> format;
  unsigned boxes = 1;
  std::optional<Rational> nicGbps;  ///< Gb/s of each NIC
  std::optional<Rational> linkRate; ///< GB/s of one GPU link
  std::optional<bool> hasRails;     ///< nothing: rails
  std::vector<std::string> nics;    ///< names of those to use; empty: all
};

/// What `file` is, by its content. Fails with what it looks like, if known.
Result<ImportFormat> recognizeFormat(const ImportFile &file);

/// Reads all files; those of InfraGraph refer to each other and become one
/// reading. Messages begin with "FILE:LINE:COLUMN: ".
Result<std::vector<Reading>> readFiles(const std::vector<ImportFile> &files,
                                       const ImportOptions &options);

/// The boxes of each reading, `options.boxes` times if there is one reading;
/// what nvidia-smi nvlink and -q -x and amd-smi xgmi say belongs to the box
/// before them, or after if there is none; amd-smi xgmi alone is a box.
/// Assumptions and warnings become notes of the machine.
Result<Machine> assembleMachine(std::vector<Reading> readings,
                                const ImportOptions &options);

/// The fields "vendor", "gpus", "nvlink_pairs" or "xgmi_pairs", "switch",
/// "links_per_gpu", "nics", and what else the format has; null for what the
/// file does not say.
llvm::json::Object readingToJson(const Reading &reading);
/// All vertices and edges, with sources.
llvm::json::Object machineToJson(const Machine &machine);

} // namespace sccl

#endif // SCCL_IMPORT_IMPORT_H
