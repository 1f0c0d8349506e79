//===- ConnectedMoves.h - A program over connections ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transfers of a program touch memory of two ranks. Other tools have two
// ends of a connection in their place, which holds what is sent until it is
// received. So whatever a program lands in scratch memory to be added up or
// copied there, and for nothing else, is received where it is used. All else is
// received before it is used, before it is overwritten, and before what was
// sent is: if each connection held one send, the moves could be done in their
// order.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_CONNECTEDMOVES_H
#define SCCL_LIB_EXCHANGE_CONNECTEDMOVES_H

#include "sccl/Exchange/Msccl.h"

#include <set>

namespace sccl::exchange {

struct Location {
  Buffer buffer;
  uint32_t chunk;
  bool operator==(const Location &) const = default;
};

/// One end of a transfer, or what is done within a rank. A receive that reduces
/// adds `src` to what arrives.
struct Move {
  MscclType type;
  uint32_t rank;
  int peer; ///< -1 within a rank
  Location src, dst;
  uint32_t count;
  std::set<uint32_t> after = {}; ///< moves of the rank that have to be over
  uint32_t send = 0;             ///< of a receive: the move that it meets
};

struct ConnectedMoves {
  std::vector<Move> moves; ///< a connection's sends and receives in one order
  std::vector<uint32_t> scratch; ///< chunks, by rank
  /// False if an input is sent that a call in place would have overwritten.
  bool keepsInputs = true;
};

ConnectedMoves connectMoves(const Program &program);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_CONNECTEDMOVES_H
