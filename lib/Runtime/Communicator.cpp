//===- Communicator.cpp - Joining a group of ranks ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace sccl;

namespace sccl {
/// What ranks tell each other when they join.
struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t rank, numRanks;
  char planHash[64];
  char target[32];
  char deviceId[32];
  uint64_t maxPiece;
  uint64_t machine;
  ProcessId process;
  uint64_t probes; ///< where they are
  SharedMemoryHandle control;
  DeviceHandle memory;
  Outcome outcome;
};
} // namespace sccl

static constexpr uint32_t helloMagic = 0x4c434353; // "SCCL"
static constexpr uint64_t defaultMaxPiece = 1 << 20;
static constexpr uint64_t defaultBudget = 64 << 20;
static constexpr uint64_t smallestPiece = 4096;

Communicator::Communicator(std::shared_ptr<const LoadedPlan> plan,
                           unsigned rank, unsigned numRanks,
                           const Bootstrap &bootstrap, const scclConfig &config)
    : plan(std::move(plan)), manifest(this->plan->view.manifest), rank(rank),
      numRanks(numRanks), bootstrap(bootstrap), config(config) {}

Communicator::~Communicator() { watchdog.stop(); }

Status Communicator::create(std::shared_ptr<const LoadedPlan> plan,
                            unsigned rank, unsigned numRanks,
                            const Bootstrap &bootstrap,
                            const scclConfig &config,
                            std::unique_ptr<Communicator> &result) {
  std::unique_ptr<Communicator> comm(
      new Communicator(std::move(plan), rank, numRanks, bootstrap, config));
  if (Status status = comm->connect(); !status.ok())
    return status;
  result = std::move(comm);
  return {};
}

/// The largest power of two that a segment of own buffers can have on all ranks
/// within the memory that the caller allows; 0 if none.
uint64_t Communicator::fitPiece() const {
  uint64_t budget = config.scratchBytes ? config.scratchBytes : defaultBudget;
  uint64_t piece = defaultMaxPiece;
  for (const plan::SizeTable &table : manifest.tables)
    for (const plan::SizeChoice &choice : table.choices)
      while (piece < choice.pieceBytes && piece < budget)
        piece *= 2;
  auto fits = [&] {
    for (unsigned other = 0; other < numRanks; ++other)
      if (MemoryLayout(manifest, programs, other, piece).bytes > budget)
        return false;
    return true;
  };
  while (piece >= smallestPiece && !fits())
    piece /= 2;
  return piece >= smallestPiece ? piece : 0;
}

Status Communicator::checkProcess() const {
  if (!isInherited())
    return {};
  return {scclErrorUnsupported,
          "process " + std::to_string(processes[rank].pid) +
              " has made the communicator, and this is a child of it, which "
              "may only destroy it"};
}

void Communicator::abandon(std::unique_ptr<Communicator> comm) {
  if (comm->device->isSynchronous()) {
    comm->regions.clear();
    comm->memory.clear();
  }
  comm->plane.unmap();
  (void)comm.release();
}

/// The part of joining that needs nobody else.
Status Communicator::prepare() {
  if (Status status = watchForks(); !status.ok())
    return status;
  if (manifest.ranks != numRanks)
    return {scclErrorMismatch,
            "the plan is for " + std::to_string(manifest.ranks) +
                " ranks, and there are " + std::to_string(numRanks)};
  if (Status status = createDevice(config, device); !status.ok())
    return status;
  if (Status status = loadPrograms(*plan, rank, *device, programs);
      !status.ok())
    return status;
  if (Status status = plan->readPart(rank, part); !status.ok())
    return status;
  maxPiece = fitPiece();
  if (maxPiece == 0) {
    MemoryLayout least(manifest, programs, rank, smallestPiece);
    return {scclErrorOutOfMemory, "the plan needs " +
                                      std::to_string(least.bytes) +
                                      " bytes of memory, which is more than "
                                      "scratchBytes, or 64 MiB, allows"};
  }
  for (const plan::RankLayout &layout : manifest.layout) {
    mostInputSegments = std::max(mostInputSegments, layout.inputSegments);
    mostOutputSegments = std::max(mostOutputSegments, layout.outputSegments);
  }
  for (unsigned other = 0; other < numRanks; ++other)
    layouts.emplace_back(manifest, programs, other, maxPiece);
  if (Status status = plane.create(rank, numRanks); !status.ok())
    return status;
  memory.resize(numRanks);
  return device->allocate(std::max<uint64_t>(layouts[rank].bytes, 1),
                          memory[rank]);
}

/// Fails on every rank in the same way if the ranks do not fit together (check
/// M1).
static Status compareHellos(const std::vector<Hello> &hellos, unsigned rank) {
  const Hello &own = hellos[rank];
  auto differs = [&](unsigned other, const std::string &what) {
    return Status(scclErrorMismatch, "rank " + std::to_string(other) + " " +
                                         what + " than rank " +
                                         std::to_string(rank) + " (M1)");
  };
  for (unsigned other = 0; other < hellos.size(); ++other) {
    const Hello &hello = hellos[other];
    if (hello.magic != own.magic || hello.version != own.version)
      return differs(other, "has another version of libsccl");
    if (hello.rank != other)
      return {scclErrorMismatch,
              "the all-gather put rank " + std::to_string(hello.rank) +
                  " in the place of rank " + std::to_string(other)};
    if (hello.numRanks != own.numRanks)
      return differs(other, "expects another number of ranks (" +
                                std::to_string(hello.numRanks) + ")");
    if (std::memcmp(hello.planHash, own.planHash, sizeof(own.planHash)) != 0)
      return differs(other, "has another plan");
  }
  return {};
}

/// The same for what is only known if all could prepare.
static Status compareResources(const std::vector<Hello> &hellos,
                               unsigned rank) {
  const Hello &own = hellos[rank];
  for (unsigned other = 0; other < hellos.size(); ++other) {
    const Hello &hello = hellos[other];
    std::string who = "rank " + std::to_string(other);
    if (hello.machine != own.machine)
      return {scclErrorUnsupported,
              who +
                  " is on another machine, or in another PID namespace, "
                  "than rank " +
                  std::to_string(rank)};
    if (std::memcmp(hello.target, own.target, sizeof(own.target)) != 0 ||
        hello.maxPiece != own.maxPiece)
      return {scclErrorMismatch, who +
                                     " has another device or scratchBytes "
                                     "than rank " +
                                     std::to_string(rank)};
  }
  return {};
}

Status Communicator::connect() {
  Status status;
  Hello hello = {};
  try {
    status = prepare();
    if (status.ok())
      status = machineId(hello.machine);
    if (status.ok())
      status = ProcessId::self(hello.process);
  } catch (const std::bad_alloc &) {
    status = {scclErrorOutOfMemory, "out of memory"};
  }
  hello.magic = helloMagic;
  hello.version = SCCL_VERSION_CODE;
  hello.rank = rank;
  hello.numRanks = numRanks;
  std::memcpy(hello.planHash, plan->view.hash.data(), sizeof(hello.planHash));
  hello.outcome = Outcome(status);
  if (status.ok()) {
    std::strncpy(hello.target, device->target().c_str(),
                 sizeof(hello.target) - 1);
    std::strncpy(hello.deviceId, device->id().c_str(),
                 sizeof(hello.deviceId) - 1);
    hello.maxPiece = maxPiece;
    probes.resize(numRanks);
    hello.probes = reinterpret_cast<uintptr_t>(probes.data());
    hello.control = plane.handle();
    hello.memory = memory[rank]->handle();
  }
  std::vector<Hello> hellos;
  if (Status gathered = bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  std::vector<Outcome> outcomes;
  for (const Hello &other : hellos)
    outcomes.push_back(other.outcome);
  // A difference in plans explains more than what it made fail.
  if (Status same = compareHellos(hellos, rank); !same.ok())
    return same;
  if (status = bootstrap.agree(status, outcomes); !status.ok())
    return status;
  if (status = compareResources(hellos, rank); !status.ok())
    return status;
  status = bootstrap.agree(mapPeers(hellos));
  plane.seal();
  memory[rank]->seal();
  return status.ok() ? probeProcesses(hellos) : status;
}

/// Finds out whether ranks may copy to each other's memory: containers and
/// systems with ptrace_scope may forbid it.
Status Communicator::probeProcesses(const std::vector<Hello> &hellos) {
  auto hasCopies = [](const Program &program) { return program.hasCopies(); };
  if (isOneProcess || std::none_of(programs.begin(), programs.end(), hasCopies))
    return {};
  uint64_t mark = rank + 1;
  bool reaches = true;
  for (unsigned other = 0; other < numRanks; ++other)
    reaches &= device
                   ->writeTo(hellos[other].process,
                             hellos[other].probes + rank * sizeof(mark), &mark,
                             sizeof(mark))
                   .ok();
  // All have written, then all have looked.
  for (unsigned turn = 0; turn < 2; ++turn) {
    std::vector<uint32_t> all;
    if (Status gathered = bootstrap.gather(uint32_t(reaches), all);
        !gathered.ok())
      return gathered;
    reaches = std::find(all.begin(), all.end(), 0u) == all.end();
    for (unsigned other = 0; other < numRanks; ++other)
      reaches &= probes[other] == other + 1;
  }
  reachesProcesses = reaches;
  return {};
}

/// Ranks wait for each other inside kernels, so those that share a device must
/// run at the same time.
Status Communicator::shareDevice(const std::vector<Hello> &hellos) {
  if (device->id().empty())
    return {};
  std::vector<unsigned> members;
  for (unsigned other = 0; other < numRanks; ++other) {
    if (device->id() != hellos[other].deviceId)
      continue;
    if (!(hellos[other].process == hellos[rank].process))
      return {scclErrorUnsupported,
              "ranks " + std::to_string(std::min(rank, other)) + " and " +
                  std::to_string(std::max(rank, other)) + " share device " +
                  device->id() + ", and are not threads of one process"};
    members.push_back(other);
  }
  if (members.size() == 1)
    return {};
  together = std::make_unique<VirtualRanks>(plane, *device, std::move(members));
  return together->load(*plan, programs);
}

Status Communicator::mapPeers(const std::vector<Hello> &hellos) {
  if (Status status = shareDevice(hellos); !status.ok())
    return status;
  isOneProcess = true;
  for (unsigned other = 0; other < numRanks; ++other) {
    processes.push_back(hellos[other].process);
    isOneProcess &= hellos[other].process == hellos[rank].process;
    if (other == rank)
      continue;
    if (Status status = plane.open(other, hellos[other].control); !status.ok())
      return status;
    if (Status status = device->import(hellos[other].memory, memory[other]);
        !status.ok())
      return status;
    if (memory[other]->size() < layouts[other].bytes)
      return {scclErrorInternal, "the memory of rank " + std::to_string(other) +
                                     " is smaller than it should be"};
  }
  fillStagingTables();
  calls.resize(numRanks);
  foreign.resize(numRanks);
  resolveTables();
  if (Status status = placeTables(); !status.ok())
    return status;
  if (Status status = placeRankTables(); !status.ok())
    return status;
  void *page = nullptr;
  if (Status status =
          device->mapHostMemory(plane.abortPage(), sizeof(uint64_t), &page);
      !status.ok())
    return status;
  abortWord = static_cast<uint64_t *>(page);
  return watchdog.start(plane, processes, config.timeoutSeconds);
}

void Communicator::fillStagingTables() {
  peerTables.resize((programs.size() + 1) * numRanks);
  for (unsigned slot = 0; slot < programs.size(); ++slot)
    for (unsigned other = 0; other < numRanks; ++other) {
      const MemoryLayout &layout = layouts[other];
      char *base = memory[other]->data();
      tableOf(slot)[other] = {base + layout.input, base + layout.output,
                              base + layout.scratch,
                              base + layout.controls[slot]};
    }
}

/// Functions read their table in every operation: it has to be near.
Status Communicator::placeTables() {
  if (device->isSynchronous())
    return {};
  uint64_t bytes = peerTables.size() * sizeof(PeerEntry);
  if (Status status = device->allocate(bytes, deviceTables); !status.ok())
    return status;
  uploaded.resize(numRanks);
  return copyAndSettle(deviceTables->data(), peerTables.data(), bytes);
}

/// Brings the tables of this rank to where functions can read them.
Status Communicator::placeRankTables() {
  const std::vector<llvm::StringRef> &sets = part.part.rankTables;
  if (sets.empty())
    return {};
  const char *base = part.bytes.data();
  if (!device->isSynchronous()) {
    if (Status status = device->allocate(part.bytes.size(), rankTableMemory);
        !status.ok())
      return status;
    if (Status status =
            copyAndSettle(rankTableMemory->data(), base, part.bytes.size());
        !status.ok())
      return status;
    base = rankTableMemory->data();
  }
  for (llvm::StringRef table : sets)
    rankTables.push_back(base + (table.data() - part.bytes.data()));
  return {};
}

/// Copies in the communicator's own stream.
Status Communicator::copyAndSettle(void *to, const void *from, uint64_t bytes) {
  if (Status status = device->copy(to, from, bytes, nullptr); !status.ok())
    return status;
  Status status = settle(nullptr);
  // The memory may not be given back while something still copies.
  if (!status.ok())
    (void)settle(nullptr);
  return status;
}

PeerEntry *Communicator::deviceTableOf(unsigned slot) const {
  const PeerEntry *tables =
      deviceTables ? reinterpret_cast<const PeerEntry *>(deviceTables->data())
                   : peerTables.data();
  return const_cast<PeerEntry *>(tables) + size_t(slot) * numRanks;
}

/// Brings the table of direct launches to the device, if it has changed.
Status Communicator::uploadTable(void *stream) {
  const PeerEntry *table = tableOf(programs.size());
  uint64_t bytes = numRanks * sizeof(PeerEntry);
  if (!deviceTables || std::memcmp(uploaded.data(), table, bytes) == 0)
    return {};
  std::memcpy(uploaded.data(), table, bytes);
  return device->copy(deviceTableOf(programs.size()), uploaded.data(), bytes,
                      stream);
}

//===----------------------------------------------------------------------===//
// Choices by size
//===----------------------------------------------------------------------===//

Communicator::Choice Communicator::makeChoice(const Program &program,
                                              plan::Path path,
                                              uint64_t pieceBytes,
                                              const char *reason) const {
  Choice choice{&program, nullptr, nullptr, path, pieceBytes, reason};
  for (const Program &other : programs) {
    if (other.info->schedule != program.info->schedule ||
        other.info->blocks != program.info->blocks)
      continue;
    if (!other.touchesPeers() && !choice.aloof)
      choice.aloof = &other;
    if (other.hasCopies() && !choice.copying)
      choice.copying = &other;
  }
  return choice;
}

/// Takes the choices of `table` that this device can execute.
bool Communicator::resolveTable(const plan::SizeTable &table,
                                const char *reason) {
  choices.clear();
  for (const plan::SizeChoice &entry : table.choices) {
    // Another program of the same schedule is the next best.
    const Program *best = nullptr;
    for (const Program &program : programs) {
      if (program.index == entry.program)
        best = &program;
      if (!best &&
          program.info->schedule == manifest.programs[entry.program].schedule)
        best = &program;
    }
    if (!best)
      continue;
    uint64_t first = choices.empty() ? 0 : entry.firstByte;
    choices.push_back(
        {first, makeChoice(*best, entry.path, entry.pieceBytes, reason)});
  }
  return !choices.empty();
}

void Communicator::resolveTables() {
  const char *ranksAs = isOneProcess ? "threads" : "processes";
  for (const plan::SizeTable &table : manifest.tables)
    if (table.source == "measured" && table.target == device->target() &&
        table.ranksAs == ranksAs && resolveTable(table, "measured here"))
      return;
  for (const plan::SizeTable &table : manifest.tables)
    if (table.source == "model" &&
        resolveTable(table, "cheapest in the cost model"))
      return;
  choices = {
      {0, makeChoice(programs.front(), plan::Path::Auto, 0, "the only one")}};
}

const Communicator::Choice &Communicator::choiceFor(uint64_t bytes) const {
  if (forced)
    return *forced;
  auto next = std::upper_bound(choices.begin(), choices.end(), bytes,
                               [](uint64_t size, const SizedChoice &choice) {
                                 return size < choice.firstByte;
                               });
  return std::prev(next)->choice;
}

Status Communicator::queryChoice(size_t count, scclDataType type, scclRedOp op,
                                 scclChoice &result) const {
  Flight flight;
  flight.request = {nullptr, nullptr, count, type, op, nullptr};
  if (Status status = checkTypes(flight.request); !status.ok())
    return status;
  flight.segmentBytes = count * dataTypeBytes(type);
  if (Status status = choose(flight); !status.ok())
    return status;
  const Choice &choice = flight.choice;
  const std::string &schedule =
      manifest.schedules[choice.program->info->schedule].name;
  result.program = choice.program->index;
  result.path = scclPath(choice.path);
  result.pieceBytes = choice.pieceBytes;
  std::memset(result.schedule, 0, sizeof(result.schedule));
  std::memset(result.reason, 0, sizeof(result.reason));
  std::strncpy(result.schedule, schedule.c_str(), sizeof(result.schedule) - 1);
  std::strncpy(result.reason, choice.reason, sizeof(result.reason) - 1);
  return {};
}

Status Communicator::setChoice(const scclChoice *choice) {
  if (!choice) {
    forced.reset();
    return {};
  }
  for (const Program &program : programs)
    if (int(program.index) == choice->program) {
      if (unsigned(choice->path) > unsigned(scclPathStaging))
        return invalid("path is " + std::to_string(int(choice->path)) +
                       ", expected 0 to 2");
      forced = makeChoice(program, plan::Path(choice->path), choice->pieceBytes,
                          "set by the caller");
      return {};
    }
  return {scclErrorUnsupported, "program " + std::to_string(choice->program) +
                                    " has no code for " + device->target()};
}

//===----------------------------------------------------------------------===//
// Memory that peers can access
//===----------------------------------------------------------------------===//

/// Fails on all ranks alike if they ask for different sizes, or for more than
/// there is. Each looks before any of them has taken its part.
Status Communicator::agreeOnBytes(size_t bytes) const {
  struct Request {
    uint64_t bytes, available;
  };
  std::vector<Request> requests;
  if (Status gathered =
          bootstrap.gather(Request{bytes, device->availableBytes()}, requests);
      !gathered.ok())
    return gathered;
  uint64_t available = UINT64_MAX;
  for (unsigned other = 0; other < numRanks; ++other) {
    if (requests[other].bytes != bytes)
      return {scclErrorMismatch,
              "rank " + std::to_string(other) + " allocates " +
                  std::to_string(requests[other].bytes) + " bytes, rank " +
                  std::to_string(rank) + " " + std::to_string(bytes)};
    available = std::min(available, requests[other].available);
  }
  if (bytes <= available / numRanks)
    return {};
  return {scclErrorOutOfMemory, std::to_string(numRanks) + " ranks allocate " +
                                    std::to_string(bytes) + " bytes each, " +
                                    std::to_string(available) +
                                    " are available for all of them"};
}

Status Communicator::allocate(size_t bytes, void **result) {
  struct Offer {
    DeviceHandle handle;
    Outcome outcome;
  };
  if (Status status = agreeOnBytes(bytes); !status.ok())
    return status;
  Region region;
  region.parts.resize(numRanks);
  Status status =
      device->allocate(std::max<size_t>(bytes, 1), region.parts[rank]);
  Offer offer = {};
  offer.outcome = Outcome(status);
  if (status.ok())
    offer.handle = region.parts[rank]->handle();
  std::vector<Offer> offers;
  if (Status gathered = bootstrap.gather(offer, offers); !gathered.ok())
    return gathered;
  std::vector<Outcome> outcomes;
  for (const Offer &other : offers)
    outcomes.push_back(other.outcome);
  if (status = bootstrap.agree(status, outcomes); !status.ok())
    return status;
  for (unsigned other = 0; other < numRanks && status.ok(); ++other)
    if (other != rank)
      status = device->import(offers[other].handle, region.parts[other]);
  status = bootstrap.agree(status);
  region.parts[rank]->seal();
  if (!status.ok())
    return status;
  *result = region.parts[rank]->data();
  regions.push_back(std::move(region));
  return {};
}

Status Communicator::free(void *address) {
  for (Region &region : regions)
    if (!region.parts.empty() && region.parts[rank]->data() == address) {
      // The number stays taken: it is the same on all ranks.
      region.parts.clear();
      return {};
    }
  return invalid("this address was not returned by scclMemAlloc, or is free");
}

Status Communicator::copy(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return {};
  if (Status status = device->begin(nullptr); !status.ok())
    return status;
  return copyAndSettle(to, from, bytes);
}
