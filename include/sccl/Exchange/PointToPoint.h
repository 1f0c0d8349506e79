//===- PointToPoint.h - Programs of sends and receives ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Source code that executes a schedule with nothing but what most libraries
// have: messages between two ranks, several at once, and arithmetic on parts of
// buffers. Such engines need no library of ours.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_POINTTOPOINT_H
#define SCCL_EXCHANGE_POINTTOPOINT_H

#include "sccl/Model/Program.h"
#include "sccl/Model/Result.h"
#include "sccl/Model/Schedule.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sccl::exchange {

enum class PointToPointForm {
  TorchP2P, ///< (.py) a Python module over a group of torch.distributed
  NcclHost, ///< (.cpp) a C++ function over a communicator of NCCL or RCCL
};
/// The form of a file that is called `path`; nothing if it is none of them.
std::optional<PointToPointForm> pointToPointForm(std::string_view path);

/// `program`, which `schedule` of `collective` has become, with or without
/// pieces, as source code. `head` are lines that say where it is from, which
/// become its comment. The program of each rank is a table of rounds: the
/// messages of a round are under way at once, and sums follow. Messages of two
/// steps or pieces that take the same link are in two rounds, so that pieces
/// follow each other as the schedule says. Sums have the order of their
/// operands from `program`, and chunks are cut as libsccl cuts them, so that
/// the bits of results are the same.
std::string toPointToPoint(const Collective &collective,
                           const Schedule &schedule, const Program &program,
                           const std::vector<std::string> &head,
                           PointToPointForm form);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_POINTTOPOINT_H
