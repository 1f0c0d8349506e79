//===- LinkGroups.h - Links of pairs, or of a switch ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind a switch every GPU reaches every other one with all its links, and
// tools say so pair by pair: NV18 seven times is 18 links, not 126.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_LINKGROUPS_H
#define SCCL_LIB_IMPORT_LINKGROUPS_H

#include "Readers.h"

namespace sccl::import {

/// Adds what a file says of pairs of GPUs to the pairs of `reading`; where a
/// GPU would have more links than its chip has, the links of all GPUs that
/// pairs connect with it lead to a switch. `notation` is what the file writes
/// before a number of links, as "NV".
void addPairedLinks(Reading &reading, const std::vector<LinkReading> &pairs,
                    llvm::StringRef notation);

/// Replaces the switches by one if a GPU would have more links to all of them
/// than its chip has: each number is of all its links then. Says which GPUs
/// have fewer links to switches than others, and how many there are at most.
void finishSwitches(Reading &reading, llvm::StringRef notation);

/// "GPU3", or in a reading of several boxes "GPU3 of host 1".
std::string nameOfGpu(const Reading &reading, unsigned gpu);

/// Adds a link between a GPU and a CPU, which takes the place of a slot right
/// at that CPU.
void addHostLink(Reading &reading, const LinkReading &link);

/// Says which ranks of a reading are on one GPU.
void noteShared(Reading &reading);

/// Warns of pairs of GPUs without access to each other, if there are any.
void warnOfAccess(Reading &reading, unsigned numPairs);

/// Joins the nodes of each box that have no parent through the first of them,
/// as no file says how CPUs are joined.
void joinNodes(Reading &reading);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_LINKGROUPS_H
