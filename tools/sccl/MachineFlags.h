//===- MachineFlags.h - Options that give a machine -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_MACHINEFLAGS_H
#define SCCL_TOOLS_SCCL_MACHINEFLAGS_H

#include "Driver.h"

#include "sccl/Import/Import.h"
#include "sccl/Machine/Derivation.h"

namespace sccl::driver {

/// The machine of a preset's name, or of an .mlir file that holds one. Prints
/// an error and returns nothing on failure.
std::optional<Machine> loadMachine(llvm::StringRef spec);

/// What was read, and the machine made of it.
struct Imported {
  std::vector<Reading> readings;
  std::optional<Machine> machine; ///< nothing if what was read has none
  std::string problem;            ///< why not
};

/// The machine as a coll.machine.
std::string machineText(const Machine &machine);

/// The subcommands that take these options: all but the first take --machine,
/// too.
llvm::cl::SubCommand &machineCommand();
llvm::cl::SubCommand &planCommand();
llvm::cl::SubCommand &paretoCommand();
llvm::cl::SubCommand &synthCommand();
llvm::cl::SubCommandGroup &takesMachines();

/// "--NAME" for the first option here that was given; empty if none was.
std::string findAnyOfMachines();
/// The machine or topology of --machine, or the machine of --import or --probe,
/// joined by --network. There is a machine if an option for machines was given.
/// Prints an error and returns nothing if there is none.
std::optional<Wiring> givenWiring();
/// The topology of that without what --without and --degrade say. As
/// topologyOf().
std::optional<Topology> givenTopology(std::string *where = nullptr,
                                      RankGroups *boxes = nullptr,
                                      Origin *origin = nullptr,
                                      const std::string &groups = "");

/// True if --import or --probe was given.
bool isImport();
/// Why the first option that was given beside --import or --probe means nothing
/// for `spec`, a name or a file, or without one; empty if none was given.
std::string findIdleImportOption(llvm::StringRef spec);

/// What the tools of this host print of it; says on stderr what was run. Empty
/// if not even hwloc knows it.
std::vector<ImportFile> probeHost();

/// The machine in a file that --import takes, by itself. Prints an error and
/// returns nothing if there is none.
std::optional<Machine> importMachine(llvm::StringRef path);

/// Reads the files of --import, or what --probe finds, with the options beside
/// it. Prints an error and returns nothing on failure.
std::optional<Imported> importFiles();
/// The machine in it; prints an error and returns nothing if there is none.
std::optional<Machine> importGivenMachine();

/// The file at `path`, or standard input for "-"; prints an error and returns
/// nothing if it cannot be read or is larger than any file of a tool.
std::optional<ImportFile> loadImportFile(const std::string &path);

/// True if --network was given.
bool hasNetwork();
/// Joins the boxes of `machine` as the file of --network says, if it was given.
/// Prints an error and returns false if it cannot.
bool applyNetwork(Machine &machine);

/// True if --without or --degrade was given.
bool hasFaults();
/// Takes out of `machine` what they say. Prints an error and returns false if
/// it cannot.
bool applyFaults(Machine &machine);

/// "--NAME" for the first of these options, or those of the derivation, that
/// was given; empty if none was.
std::string findMachineOption();
/// The same for those of the derivation only.
std::string findDerivationOption();

/// What --group says of the ranks of `machine`; none if it is no list of
/// groups.
RankGroups groupsOf(const Machine &machine, const std::string &text);

/// The topology of a machine by --quantum and --tolerance, for `groups`, if
/// they are that. Prints an error and returns nothing if there is none.
std::optional<Derivation> derive(const Machine &machine,
                                 const std::string &groups = "");

/// True if --measure was given.
bool isMeasuring();
/// "--NAME" for the first option of --measure that was given; empty if none
/// was.
std::string findMeasureOption();
/// Measures the machine that `name` or an import says, or that of --ranks.
/// Writes the machine with its numbers to `output`, unless that is empty.
int measureMachine(llvm::StringRef name, llvm::StringRef output, bool json);

/// The readings, and the machine; null if there is none.
llvm::json::Object importedToJson(const Imported &imported);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_MACHINEFLAGS_H
