//===- OrderedSums.cpp - Sums in one order on all ranks -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/OrderedSums.h"

using namespace sccl;

OrderedSums::OrderedSums(const Collective &collective)
    : collective(&collective) {
  size_t asked = 0;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    asked += collective.post().count(rank);
  if (!collective.combining() || asked <= collective.numChunks())
    return;
  endsInSum.resize(size_t(collective.numRanks()) * collective.numChunks());
  sumsOf.resize(collective.numChunks());
}

OrderedSums::OrderedSums(const Collective &collective, const Schedule &schedule)
    : OrderedSums(collective) {
  if (!isNeeded())
    return;
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends)
      enter(send);
  finish();
}

void OrderedSums::enter(const Send &send) {
  sendsKept |= send.kept != 0;
  if (send.action != SendAction::Keep)
    endsInSum[placeOf(send.dst, send.chunk)] =
        send.action == SendAction::Reduce;
}

void OrderedSums::finish() {
  for (unsigned rank = 0; rank < collective->numRanks(); ++rank)
    for (unsigned chunk = 0; chunk < sumsOf.size(); ++chunk) {
      // Only what a rank is asked for matters, and only what it contributes to
      // is there before all has arrived.
      bool isSum = endsInSum[placeOf(rank, chunk)] &&
                   collective->pre().contains(rank, chunk) &&
                   collective->post().contains(rank, chunk);
      endsInSum[placeOf(rank, chunk)] = isSum;
      sumsOf[chunk] += isSum;
    }
}
