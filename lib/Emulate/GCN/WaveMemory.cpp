//===- WaveMemory.cpp - What wavefronts do to memory ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wave.h"

#include <algorithm>
#include <cstring>

using namespace sccl::emulate;
using namespace sccl::emulate::gcn;

//===----------------------------------------------------------------------===//
// What is on its way
//===----------------------------------------------------------------------===//

Wave::Access &Wave::begin() {
  onTheirWay.emplace_back();
  onTheirWay.back().number = ++begun;
  return onTheirWay.back();
}

void Wave::wait(const Op &op) {
  if (op.scalarWait)
    areScalarsOnTheirWay.fill(false);
  if (op.vectorWait < 0 || uint32_t(op.vectorWait) > begun)
    return;
  ended = std::max(ended, begun - op.vectorWait);
  while (!onTheirWay.empty() && onTheirWay.front().number <= ended) {
    Access &access = onTheirWay.front();
    arrived.append(access.reads.begin(), access.reads.end());
    if (access.written) {
      written.join(*access.written);
      isWrittenNew = true;
    }
    onTheirWay.pop_front();
  }
}

void Wave::writeBack(const Op &op) {
  Access &access = begin();
  if (op.scope != Scope::System)
    return; // of no use to another GPU
  access.written = std::make_unique<Clock>(performed);
  access.written->add(actor.now());
}

/// Makes known what ordered loads have read that have ended.
void Wave::invalidate(const Op &op, Memory &memory) {
  if (op.form == Form::InvalidateL2) {
    arrivedAtL2 = arrived.size();
    return;
  }
  actor.acquired = &performed;
  llvm::ArrayRef<uint32_t> reads = arrived;
  if (code.hasScopeBits) {
    memory.acquire(actor, reads, op.scope);
  } else {
    memory.acquire(actor, reads.take_front(arrivedAtL2), Scope::System);
    memory.acquire(actor, reads.drop_front(arrivedAtL2), Scope::Device);
  }
  actor.acquired = nullptr;
  arrived.clear();
  arrivedAtL2 = 0;
}

void Wave::settle(Settled &settled) const {
  settled.isIdle &= begun == ended;
  settled.written.join(written);
  settled.performed.join(performed);
}

void Wave::resume(const Settled &settled) {
  performed = settled.performed;
  written = settled.written;
  isWrittenNew = true;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// False if the wavefront should go on.
bool Wave::executeMemory(const Op &op, Memory &memory) {
  switch (op.form) {
  case Form::Load:
    load(op, memory);
    return op.order != Order::Weak;
  case Form::Store:
    store(op, memory);
    return false;
  case Form::LoadScalar:
    loadScalar(op, memory);
    return false;
  case Form::LoadPrivate:
  case Form::StorePrivate:
    accessPrivate(op, memory);
    return false;
  case Form::WriteBack:
    writeBack(op);
    return false;
  case Form::InvalidateL2:
  case Form::Invalidate:
    invalidate(op, memory);
    return false;
  case Form::Wait:
    wait(op);
    return false;
  default:
    return false;
  }
}

uint64_t Wave::addressOf(const Op &op, unsigned lane) {
  const Operand &address = op.sources.front();
  uint64_t low = vector(address.first, lane);
  if (address.words == 2)
    return (uint64_t(vector(address.first + 1, lane)) << 32 | low) + op.offset;
  return pair(op.sources.back().first) + low + op.offset;
}

/// The size of what is accessed at once: a word that is ordered is one.
unsigned Wave::pieceOf(const Op &op, uint64_t address, Memory &memory) const {
  unsigned piece = std::min<unsigned>(op.bytes, 8);
  if (address % piece != 0 && op.order == Order::Relaxed)
    report(op, FindingKind::Fault, "the address is not aligned", memory);
  while (address % piece != 0)
    piece /= 2;
  return piece;
}

void Wave::load(const Op &op, Memory &memory) {
  unsigned line = lineOf(op);
  Access &access = begin();
  const Operand &result = op.results.front();
  for (unsigned i = 0; i < result.words; ++i)
    filledBy[result.first + i] = access.number;
  // Addresses may be in registers that are filled.
  Column addresses;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    addresses[lane] = isActive(lane) ? addressOf(op, lane) : 0;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    if (!isActive(lane))
      continue;
    uint64_t bytes[2] = {};
    unsigned piece = pieceOf(op, addresses[lane], memory);
    for (unsigned at = 0; at < op.bytes; at += piece) {
      uint64_t value = memory.load(actor, addresses[lane] + at, piece, op.order,
                                   op.scope, line);
      std::memcpy(reinterpret_cast<char *>(bytes) + at, &value, piece);
    }
    if (op.isSigned)
      bytes[0] = uint32_t(int32_t(int8_t(bytes[0])));
    for (unsigned i = 0; i < result.words; ++i)
      vector(result.first + i, lane) = uint32_t(bytes[i / 2] >> (32 * (i % 2)));
  }
  access.reads.append(actor.pending.begin(), actor.pending.end());
  actor.pending.clear();
}

void Wave::store(const Op &op, Memory &memory) {
  unsigned line = lineOf(op);
  begin();
  checkLanes(op, memory);
  if (isWrittenNew && op.order != Order::Weak) {
    actor.fenced = memory.remember(written);
    actor.fenceScope = Scope::System;
    isWrittenNew = false;
  }
  const Operand &data = op.sources[1];
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    if (!isActive(lane))
      continue;
    uint32_t words[4] = {};
    for (unsigned i = 0; i < data.words; ++i)
      words[i] = vector(data.first + i, lane) >> data.part.from;
    uint64_t address = addressOf(op, lane);
    unsigned piece = pieceOf(op, address, memory);
    Order order =
        op.order == Order::Whole && piece != op.bytes ? Order::Weak : op.order;
    for (unsigned at = 0; at < op.bytes; at += piece) {
      uint64_t value = 0;
      std::memcpy(&value, reinterpret_cast<char *>(words) + at, piece);
      memory.store(actor, address + at, piece, value, order, op.scope, line);
    }
  }
}

/// Two lanes that store to a byte race.
void Wave::checkLanes(const Op &op, Memory &memory) {
  llvm::SmallVector<uint64_t, waveLanes> addresses;
  for (unsigned lane = 0; lane < waveLanes; ++lane)
    if (isActive(lane))
      addresses.push_back(addressOf(op, lane));
  if (!std::is_sorted(addresses.begin(), addresses.end()))
    std::sort(addresses.begin(), addresses.end());
  for (size_t i = 1; i < addresses.size(); ++i)
    if (addresses[i] - addresses[i - 1] < op.bytes)
      return report(op, FindingKind::Race, "lanes store to the same byte",
                    memory);
}

void Wave::loadScalar(const Op &op, Memory &memory) {
  unsigned line = lineOf(op);
  const Operand &result = op.results.front();
  uint64_t address = pair(op.sources.front().first) + op.offset;
  if (op.sources.size() > 1)
    address += scalars[op.sources.back().first];
  const uint8_t *bytes = memory.constant(address, op.bytes, line);
  for (unsigned i = 0; i < result.words; ++i) {
    if (bytes)
      std::memcpy(&scalars[result.first + i], bytes + 4 * i, 4);
    areScalarsOnTheirWay[result.first + i] = true;
  }
}

/// Of each lane's own memory, which nobody else sees.
void Wave::accessPrivate(const Op &op, Memory &memory) {
  bool isLoad = op.form == Form::LoadPrivate;
  const Operand &data = isLoad ? op.results.front() : op.sources[1];
  uint64_t at = scalars[op.sources.front().first];
  if (kernel.privateBuffer >= 0) {
    at /= waveLanes;
    const Operand &buffer = op.sources.back();
    for (unsigned i = 0; i < privateBuffer.size(); ++i)
      if (scalars[buffer.first + i] != privateBuffer[i])
        return report(op, FindingKind::Fault, "this is not the memory of lanes",
                      memory);
  }
  at += op.offset;
  uint32_t number = begin().number;
  if (at % 4 != 0 || at + 4 > kernel.privateBytes)
    return report(op, FindingKind::Fault,
                  "lanes have no memory at " + std::to_string(at), memory);
  if (isLoad)
    filledBy[data.first] = number;
  for (unsigned lane = 0; lane < waveLanes; ++lane) {
    if (!isActive(lane))
      continue;
    uint32_t &word = privateMemory[at / 4 * waveLanes + lane];
    if (isLoad)
      vector(data.first, lane) = word;
    else
      word = vector(data.first, lane);
  }
}
