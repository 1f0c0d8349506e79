//===- Constants.h - What steers searches for engines -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_CONSTANTS_H
#define SCCL_LIB_SOLVER_CONSTANTS_H

#include "sccl/Optimize/Constant.h"

namespace sccl::tuned {

SCCL_CONSTANT(unsigned, mostCanonicalRanks, 64,
              "ranks up to which their order is made canonical");
SCCL_CONSTANT(uint64_t, firstTurn, 500'000, "work of an engine's first turn");
SCCL_CONSTANT(uint64_t, turnGrowth, 4,
              "growth of turns of engines, candidates and pricing");
SCCL_CONSTANT(size_t, mostGroupElements, 256,
              "elements of a group of symmetries");
SCCL_CONSTANT(size_t, mostAddedOnArrival, 4,
              "ranks of a group whose arrivals are added up");
SCCL_CONSTANT(uint64_t, mostRoundArcs, uint64_t(1) << 21,
              "arcs of flows that choose rounds of steps");
SCCL_CONSTANT(unsigned, milpNodes, 5000,
              "nodes of branch and bound of an all_to_all");
SCCL_CONSTANT(double, pairSlack, 1.01,
              "price over the cheapest of a pair of trees to keep");
SCCL_CONSTANT(uint64_t, pairConflicts, 20000,
              "conflicts of the clauses of pairs of trees");
SCCL_CONSTANT(unsigned, pairNodes, 100,
              "nodes of branch and bound of pairs of trees");
SCCL_CONSTANT(uint64_t, mostPipelinedSends, uint64_t(1) << 22,
              "sends of a pipelined schedule");
SCCL_CONSTANT(unsigned, mostSwitchVertices, 96,
              "vertices for switches up to which trees are packed anyway");
SCCL_CONSTANT(int64_t, mostDenominator, 1 << 12,
              "denominator of shares of links");
SCCL_CONSTANT(size_t, mostCompared, 64,
              "sends by which alike chunks are ordered");
SCCL_CONSTANT(size_t, groupsPerOrder, 2,
              "groups of symmetries of one order that are tried");
SCCL_CONSTANT(uint64_t, oneSumConflicts, 1 << 14,
              "conflicts of one running sum before several");
SCCL_CONSTANT(uint64_t, firstConflicts, 1000,
              "conflicts of a formula's first turn");
SCCL_CONSTANT(size_t, mostRoundChoices, 2,
              "distributions of rounds with formulas of their own");
SCCL_CONSTANT(unsigned, mostShorter, 3,
              "numbers of steps, from the least on, to be tried");
SCCL_CONSTANT(size_t, mostMixes, 512, "mixes of all pairs of trees");
SCCL_CONSTANT(unsigned, mostOneByOne, 16,
              "ranks of a cell that are told apart one by one");
SCCL_CONSTANT(size_t, mostEdgesOfPairs, 16'000,
              "edges and steps where two cells are moved at once");
SCCL_CONSTANT(size_t, mostCostsOfPairs, 4'000'000,
              "edges looked at where two cells are moved at once");
SCCL_CONSTANT(size_t, mostRemembered, 64,
              "trees that searches for cheap ones begin with");
SCCL_CONSTANT(size_t, treeKicks, 3, "changed trees that a search begins with");
SCCL_CONSTANT(size_t, mostCheapTrees, 4,
              "trees that a search for cheap ones begins with, and returns");
SCCL_CONSTANT(size_t, mostTreesForImages, 24,
              "trees whose images are distributed");
SCCL_CONSTANT(unsigned, fewRootedRanks, 12,
              "ranks up to which trees of a root have no symmetry");
SCCL_CONSTANT(unsigned, mostSingleCells, 128,
              "ranks of a broadcast or reduce to look at one by one");
SCCL_CONSTANT(unsigned, mostCells, 40, "cells to look at that are not ranks");
SCCL_CONSTANT(unsigned, mostHalvedCells, 96,
              "cells to look at that are halved");
SCCL_CONSTANT(unsigned, fewTries, 3, "tries for a cheap multicast at first");
SCCL_CONSTANT(unsigned, mostTries, 768, "tries for a cheap multicast at last");
SCCL_CONSTANT(double, fullnessWeight, 0.01,
              "weight of how full a limit is beside what is too much");
SCCL_CONSTANT(unsigned, mostSweeps, 60,
              "sweeps over chunks to choose their trees");
SCCL_CONSTANT(uint64_t, fewChunks, 16,
              "chunks that are tried one number after another");
SCCL_CONSTANT(uint64_t, mostImageSends, uint64_t(1) << 16,
              "sends of images that are compared");
SCCL_CONSTANT(double, roundingLuck, 0.5,
              "loss by rounding to expect, of the least so far");
SCCL_CONSTANT(double, notableCost, 0.999,
              "cost that many chunks must be below, of the least");
SCCL_CONSTANT(uint64_t, mostLinksOfOrigins, uint64_t(1) << 24,
              "links to look at for all origins");
SCCL_CONSTANT(uint64_t, mostLinksOfMeetings, uint64_t(1) << 18,
              "the same where sums are collected at several ranks");
SCCL_CONSTANT(size_t, slowRounds, 6,
              "iterations over which a level has to gain");
SCCL_CONSTANT(double, slowSumGain, 0.0003, "the same of sums for many targets");
SCCL_CONSTANT(double, slowGain, 0.01, "what a level has to gain over them");

} // namespace sccl::tuned

#endif // SCCL_LIB_SOLVER_CONSTANTS_H
