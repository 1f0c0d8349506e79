//===- Plan.cpp - The container of a plan ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head: header (80 bytes, little-endian), manifest, index of ranks. Then
// blobs at multiples of a page, and parts of ranks at multiples of 64.
//
//   0   "SCCLPLAN"
//   8   u32 format version
//   12  u32 flags, 0
//   16  u64 bytes of the manifest
//   24  u64 bytes of the index of ranks
//   32  u64 bytes of the file
//   40  u64 0
//   48  SHA-256 of bytes 0 to 48 and the rest of the head, which holds those of
//       blobs and parts
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/Plan.h"

#include "Bytes.h"
#include "RankParts.h"

#include "sccl/Model/Threads.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace sccl;
using namespace sccl::plan;

using Hash = std::array<uint8_t, 32>;
static constexpr llvm::StringLiteral magic = "SCCLPLAN";
static constexpr uint64_t headerBytes = prefixBytes, hashedHeaderBytes = 48;
static constexpr uint64_t pageBytes = 4096, partAlignment = 64;

static uint64_t alignTo(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

static Hash hashOf(llvm::StringRef bytes) {
  return llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes));
}

/// LLVM's would end the process where there is no memory.
static std::string hexOf(llvm::ArrayRef<uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    text += llvm::hexdigit(byte >> 4, /*LowerCase=*/true);
    text += llvm::hexdigit(byte & 15, /*LowerCase=*/true);
  }
  return text;
}

static std::string blobHash(llvm::StringRef blob) {
  return hexOf(hashOf(blob));
}

/// The hash that the header of a head has to have.
static Hash headHash(llvm::StringRef head) {
  llvm::SHA256 hash;
  hash.update(head.take_front(hashedHeaderBytes));
  hash.update(head.drop_front(headerBytes));
  return hash.final();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// Where everything is in a file.
struct Layout {
  std::vector<BlobRange> blobs;
  std::vector<PartRange> parts;
  uint64_t fileBytes = 0;

  /// Fills in the offsets for a head of `headBytes` bytes.
  void place(uint64_t headBytes) {
    fileBytes = headBytes;
    for (BlobRange &range : blobs) {
      range.offset = alignTo(fileBytes, pageBytes);
      fileBytes = range.offset + range.bytes;
    }
    for (PartRange &range : parts) {
      range.offset = alignTo(fileBytes, partAlignment);
      fileBytes = range.offset + range.bytes;
    }
  }
  bool operator==(const Layout &) const = default;
};
} // namespace

/// The text of the manifest, padded with spaces, with all that follows placed.
/// Offsets have a varying number of digits, so the place is found by trying.
static std::string placedManifest(const Manifest &manifest, Layout &layout) {
  uint64_t indexBytes = rankIndexBytes(manifest);
  uint64_t textBytes = 0;
  while (true) {
    layout.place(headerBytes + textBytes + indexBytes);
    std::string text = manifestText(manifest, layout.blobs);
    if (text.size() <= textBytes) {
      text.resize(textBytes, ' ');
      return text;
    }
    textBytes = alignTo(text.size(), 64);
  }
}

/// The first name that JSON cannot hold, of those that users choose; empty if
/// there is none.
static std::string findBadName(const Manifest &manifest) {
  std::vector<std::string> names = {manifest.collective, manifest.topology};
  for (const ScheduleInfo &schedule : manifest.schedules)
    names.push_back(schedule.name);
  for (const KernelInfo &kernel : manifest.kernels)
    names.insert(names.end(), kernel.symbols.begin(), kernel.symbols.end());
  for (const std::string &name : names)
    if (!llvm::json::isUTF8(name))
      return llvm::json::fixUTF8(name);
  return "";
}

/// Fails if lists by rank, or of sets of tables, have another length than they
/// should.
static std::optional<Error> checkLengths(const Plan &plan) {
  const Manifest &manifest = plan.manifest;
  auto isPerRank = [&](size_t size) { return size == manifest.ranks; };
  bool fits = isPerRank(manifest.layout.size()) &&
              plan.rankTables.size() == manifest.rankTables;
  for (const RankTableSet &set : plan.rankTables)
    fits &= isPerRank(set.size());
  for (const ProgramEntry &program : manifest.programs)
    fits &= isPerRank(program.ranks.size()) &&
            program.copies.size() <= program.steps;
  if (manifest.conditions)
    fits &= isPerRank(manifest.conditions->pre.size()) &&
            isPerRank(manifest.conditions->post.size());
  if (fits)
    return std::nullopt;
  return Error{"the plan is broken: a list by rank or step has another length"};
}

/// Fills in the lengths and hashes of the parts of ranks `first` and up.
/// Returns the error of the first one that has one.
static std::optional<Error> hashParts(const PartWriter &writer, unsigned first,
                                      llvm::MutableArrayRef<PartRange> parts) {
  for (auto [i, range] : llvm::enumerate(parts)) {
    Result<std::string> part = writer.part(first + i);
    if (!part)
      return Error{part.error()};
    range = {0, part->size(), hashOf(*part)};
  }
  return std::nullopt;
}

/// The same of all ranks, by two threads: hashes are most of the work of
/// writing.
static std::optional<Error>
hashAllParts(const PartWriter &writer, llvm::MutableArrayRef<PartRange> parts) {
  size_t half = parts.size() / 2;
  Beside<std::optional<Error>> rest(
      [&] { return hashParts(writer, half, parts.drop_front(half)); });
  std::optional<Error> error = hashParts(writer, 0, parts.take_front(half));
  std::optional<Error> other = rest.get();
  return error ? error : other;
}

/// The head of `plan`, with all that follows placed and hashed.
static Result<std::string> makeHead(const Plan &plan, const PartWriter &writer,
                                    Layout &layout) {
  for (const std::string &blob : plan.blobs)
    layout.blobs.push_back({0, blob.size(), blobHash(blob)});
  layout.parts.resize(plan.manifest.ranks);
  if (std::optional<Error> error = hashAllParts(writer, layout.parts))
    return *error;
  std::string text = placedManifest(plan.manifest, layout);
  std::string index = rankIndex(plan.manifest, layout.parts);
  ByteWriter head;
  head.text(magic);
  head.u32(formatVersion);
  head.u32(0);
  head.u64(text.size());
  head.u64(index.size());
  head.u64(layout.fileBytes);
  head.bytes.resize(headerBytes);
  head.text(text);
  head.text(index);
  Hash hash = headHash(head.bytes);
  std::copy(hash.begin(), hash.end(), head.bytes.begin() + hashedHeaderBytes);
  // A reader has the last word on what is valid.
  if (Result<PlanView> check = parseHead(head.bytes, layout.fileBytes); !check)
    return Error{check.error()};
  return std::move(head.bytes);
}

/// Fails if no file can hold `plan`.
static std::optional<Error> checkPlan(const Plan &plan) {
  if (std::string name = findBadName(plan.manifest); !name.empty())
    return Error{"the name '" + name + "' is not UTF-8"};
  // A manifest that is none says so better than lists of a wrong length do.
  std::vector<BlobRange> ignored(plan.blobs.size(), {0, 0, blobHash("")});
  std::string text = manifestText(plan.manifest, ignored);
  if (Result<Manifest> check = parseManifest(text, ignored); !check)
    return Error{check.error()};
  return checkLengths(plan);
}

std::optional<Error> plan::write(const Plan &plan, llvm::raw_ostream &stream) {
  if (std::optional<Error> error = checkPlan(plan))
    return error;
  PartWriter writer(plan);
  Layout layout;
  Result<std::string> head = makeHead(plan, writer, layout);
  if (!head)
    return Error{head.error()};
  uint64_t end = 0;
  auto writeAt = [&](uint64_t offset, llvm::StringRef bytes) {
    stream.write_zeros(offset - end);
    stream << bytes;
    end = offset + bytes.size();
  };
  writeAt(0, *head);
  for (size_t i = 0; i < plan.blobs.size(); ++i)
    writeAt(layout.blobs[i].offset, plan.blobs[i]);
  for (unsigned rank = 0; rank < plan.manifest.ranks; ++rank)
    writeAt(layout.parts[rank].offset, *writer.part(rank));
  return std::nullopt;
}

Result<std::string> plan::serialize(const Plan &plan) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (std::optional<Error> error = write(plan, stream))
    return *error;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
struct Header {
  uint64_t manifestBytes, indexBytes, fileBytes;
  uint64_t headBytes() const {
    return headerBytes + manifestBytes + indexBytes;
  }
};
} // namespace

/// Fails if a file of `fileBytes` bytes cannot begin with `prefix`.
static Result<Header> parseHeader(llvm::StringRef prefix, uint64_t fileBytes) {
  using llvm::support::endian::read32le, llvm::support::endian::read64le;
  if (!prefix.starts_with(magic))
    return Error{"this is no sccl plan: it does not begin with SCCLPLAN"};
  constexpr size_t versionAt = 8, versionEnd = 12;
  uint32_t version = prefix.size() < versionEnd
                         ? formatVersion
                         : read32le(prefix.data() + versionAt);
  if (version != formatVersion)
    return Error{"the plan has format version " + std::to_string(version) +
                 ", this is for version " + std::to_string(formatVersion) +
                 "; compile it again"};
  if (prefix.size() < headerBytes)
    return Error{"the plan is truncated: it has " + std::to_string(fileBytes) +
                 " bytes, its header alone " + std::to_string(headerBytes)};
  Header header = {read64le(prefix.data() + 16), read64le(prefix.data() + 24),
                   read64le(prefix.data() + 32)};
  if (header.fileBytes != fileBytes || fileBytes > Limits::fileBytes)
    return Error{"the plan is truncated or too long: it has " +
                 std::to_string(fileBytes) + " bytes and should have " +
                 std::to_string(header.fileBytes)};
  uint64_t left = fileBytes - headerBytes;
  if (header.manifestBytes > Limits::manifestBytes ||
      header.manifestBytes > left)
    return Error{"the plan's manifest has " +
                 std::to_string(header.manifestBytes) +
                 " bytes, more than the file or the limit"};
  if (header.indexBytes > left - header.manifestBytes)
    return Error{"the plan's index of ranks has " +
                 std::to_string(header.indexBytes) +
                 " bytes, more than the file"};
  return header;
}

Result<uint64_t> plan::headBytes(llvm::StringRef prefix, uint64_t fileBytes) {
  Result<Header> header = parseHeader(prefix, fileBytes);
  if (!header)
    return Error{header.error()};
  return header->headBytes();
}

/// Checks the hash of the head, and what is always zero.
static std::optional<Error> checkHead(llvm::StringRef head) {
  Hash expected = headHash(head);
  if (!std::equal(expected.begin(), expected.end(),
                  head.bytes_begin() + hashedHeaderBytes))
    return Error{"the plan is damaged: its head does not have the SHA-256 "
                 "that its header says"};
  if (llvm::support::endian::read32le(head.data() + 12) != 0 ||
      llvm::support::endian::read64le(head.data() + 40) != 0)
    return Error{"the plan has flags that this version does not know"};
  return std::nullopt;
}

Result<PlanView> plan::parseHead(llvm::StringRef head, uint64_t fileBytes) {
  Result<Header> header = parseHeader(head, fileBytes);
  if (!header)
    return Error{header.error()};
  head = head.take_front(header->headBytes());
  if (head.size() != header->headBytes())
    return Error{"the plan is truncated: its head has " +
                 std::to_string(header->headBytes()) + " bytes"};
  if (std::optional<Error> error = checkHead(head))
    return *error;
  PlanView view;
  Result<Manifest> manifest = parseManifest(
      head.substr(headerBytes, header->manifestBytes), view.ranges);
  if (!manifest)
    return Error{manifest.error()};
  view.manifest = std::move(*manifest);
  llvm::StringRef index = head.take_back(header->indexBytes);
  if (index.size() != rankIndexBytes(view.manifest))
    return Error{"the plan is broken: its index of ranks has another length "
                 "than it should"};
  if (std::optional<Error> error =
          readRankIndex(index, view.manifest, view.parts))
    return *error;
  Layout layout{view.ranges, view.parts, fileBytes}, placed = layout;
  placed.place(head.size());
  if (placed != layout)
    return Error{"the plan is broken: its blobs and parts do not follow each "
                 "other as they should"};
  view.hash = hexOf(
      llvm::arrayRefFromStringRef(head.slice(hashedHeaderBytes, headerBytes)));
  return view;
}

/// True if there are zeros between the head, blobs and parts.
static bool hasZeroGaps(llvm::StringRef bytes, const PlanView &view,
                        uint64_t end) {
  auto check = [&](const auto &range) {
    llvm::StringRef gap = bytes.slice(end, range.offset);
    end = range.offset + range.bytes;
    return gap.find_first_not_of('\0') == llvm::StringRef::npos;
  };
  return llvm::all_of(view.ranges, check) && llvm::all_of(view.parts, check);
}

Result<PlanView> plan::parse(llvm::StringRef bytes) {
  Result<PlanView> view = parseHead(bytes, bytes.size());
  if (!view)
    return view;
  if (!hasZeroGaps(bytes, *view, *headBytes(bytes, bytes.size())))
    return Error{"the plan is broken: there is something between its blobs "
                 "and parts"};
  for (const BlobRange &range : view->ranges)
    view->blobs.push_back(bytes.substr(range.offset, range.bytes));
  return view;
}

std::optional<Error> plan::checkBlob(const PlanView &view, unsigned index,
                                     llvm::StringRef blob) {
  if (blobHash(blob) == view.ranges[index].hash)
    return std::nullopt;
  return Error{"the plan is damaged: blob " + std::to_string(index) +
               " does not have the SHA-256 that the manifest says"};
}

Result<RankPart> plan::readPart(const PlanView &view, unsigned rank,
                                llvm::StringRef bytes) {
  if (hashOf(bytes) != view.parts[rank].hash)
    return Error{"the plan is damaged: the part of rank " +
                 std::to_string(rank) +
                 " does not have the SHA-256 that the index says"};
  return decodePart(view.manifest, rank, bytes);
}

//===----------------------------------------------------------------------===//
// Whole plans
//===----------------------------------------------------------------------===//

/// Adds what the part of a rank says to the manifest.
static void addPart(Manifest &manifest, const RankPart &part) {
  for (size_t index = 0; index < manifest.programs.size(); ++index) {
    ProgramEntry &program = manifest.programs[index];
    program.copies.resize(program.steps);
    for (unsigned step = 0; step < program.steps; ++step)
      llvm::append_range(program.copies[step], part.copies[index][step]);
  }
  if (!manifest.conditions)
    return;
  manifest.conditions->pre.push_back(part.pre);
  manifest.conditions->post.push_back(part.post);
}

/// As `parseWhole`; also gives each part to `take`.
template <typename Take>
static Result<PlanView> parseAll(llvm::StringRef bytes, Take take) {
  Result<PlanView> view = plan::parse(bytes);
  if (!view)
    return view;
  for (unsigned index = 0; index < view->blobs.size(); ++index)
    if (std::optional<Error> error =
            checkBlob(*view, index, view->blobs[index]))
      return *error;
  for (unsigned rank = 0; rank < view->parts.size(); ++rank) {
    const PartRange &range = view->parts[rank];
    Result<RankPart> part =
        readPart(*view, rank, bytes.substr(range.offset, range.bytes));
    if (!part)
      return Error{part.error()};
    addPart(view->manifest, *part);
    take(*part);
  }
  return view;
}

Result<PlanView> plan::parseWhole(llvm::StringRef bytes) {
  return parseAll(bytes, [](const RankPart &) {});
}

Result<Plan> plan::readPlan(llvm::StringRef bytes) {
  Plan plan;
  auto takeTables = [&](const RankPart &part) {
    plan.rankTables.resize(part.rankTables.size());
    for (size_t set = 0; set < part.rankTables.size(); ++set)
      plan.rankTables[set].push_back(part.rankTables[set].str());
  };
  Result<PlanView> view = parseAll(bytes, takeTables);
  if (!view)
    return Error{view.error()};
  plan.manifest = std::move(view->manifest);
  for (llvm::StringRef blob : view->blobs)
    plan.blobs.push_back(blob.str());
  return plan;
}
