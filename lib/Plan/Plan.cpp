//===- Plan.cpp - The container of a plan ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Header (64 bytes, little-endian), manifest, blobs at multiples of a page:
//
//   0   "SCCLPLAN"
//   8   u32 format version
//   12  u32 flags, 0
//   16  u64 bytes of the manifest
//   24  u64 bytes of the file
//   32  SHA-256 of bytes 0 to 32 and the manifest, which holds those of blobs
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/Plan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

#include <array>

using namespace sccl;
using namespace sccl::plan;

static constexpr llvm::StringLiteral magic = "SCCLPLAN";
static constexpr uint64_t headerBytes = 64, hashedHeaderBytes = 32;
static constexpr uint64_t pageBytes = 4096;

static uint64_t alignToPage(uint64_t offset) {
  return (offset + pageBytes - 1) / pageBytes * pageBytes;
}

static std::array<uint8_t, 32> contentHash(llvm::StringRef bytes,
                                           uint64_t manifestBytes) {
  llvm::SHA256 hash;
  hash.update(bytes.take_front(hashedHeaderBytes));
  hash.update(bytes.substr(headerBytes, manifestBytes));
  return hash.final();
}

static std::string blobHash(llvm::StringRef blob) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(blob)),
                     /*LowerCase=*/true);
}

/// Fills in the offsets, the first of them `begin`; returns where the file
/// ends.
static uint64_t placeBlobs(std::vector<BlobRange> &ranges, uint64_t begin) {
  uint64_t end = begin;
  for (BlobRange &range : ranges) {
    range.offset = alignToPage(end);
    end = range.offset + range.bytes;
  }
  return end;
}

/// The text of the manifest, with blobs placed behind it. Offsets have a
/// varying number of digits, so the place is found by trying.
static std::string placedManifest(const Plan &plan,
                                  std::vector<BlobRange> &ranges,
                                  uint64_t &fileBytes) {
  for (const std::string &blob : plan.blobs)
    ranges.push_back({0, blob.size(), blobHash(blob)});
  uint64_t begin = alignToPage(headerBytes);
  while (true) {
    fileBytes = placeBlobs(ranges, begin);
    std::string text = manifestText(plan.manifest, ranges);
    if (headerBytes + text.size() <= begin)
      return text;
    begin = alignToPage(headerBytes + text.size());
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

Result<std::string> plan::serialize(const Plan &plan) {
  if (std::string name = findBadName(plan.manifest); !name.empty())
    return Error{"the name '" + name + "' is not UTF-8"};
  std::vector<BlobRange> ranges;
  uint64_t fileBytes;
  std::string text = placedManifest(plan, ranges, fileBytes);
  if (text.size() > Limits::manifestBytes)
    return Error{"the manifest has " + std::to_string(text.size()) +
                 " bytes, the limit is " +
                 std::to_string(Limits::manifestBytes)};
  if (fileBytes > Limits::fileBytes)
    return Error{"the plan has " + std::to_string(fileBytes) +
                 " bytes, the limit is " + std::to_string(Limits::fileBytes)};
  // A reader has the last word on what is within the limits.
  std::vector<BlobRange> ignored;
  if (Result<Manifest> check = parseManifest(text, ignored); !check)
    return Error{check.error()};

  std::string bytes(fileBytes, '\0');
  char *data = bytes.data();
  std::copy(magic.begin(), magic.end(), data);
  llvm::support::endian::write32le(data + 8, formatVersion);
  llvm::support::endian::write64le(data + 16, text.size());
  llvm::support::endian::write64le(data + 24, fileBytes);
  std::copy(text.begin(), text.end(), data + headerBytes);
  for (size_t i = 0; i < ranges.size(); ++i)
    std::copy(plan.blobs[i].begin(), plan.blobs[i].end(),
              data + ranges[i].offset);
  std::array<uint8_t, 32> hash = contentHash(bytes, text.size());
  std::copy(hash.begin(), hash.end(), data + hashedHeaderBytes);
  return bytes;
}

/// Checks the header; returns the bytes of the manifest.
static Result<uint64_t> parseHeader(llvm::StringRef bytes) {
  if (!bytes.starts_with(magic))
    return Error{"this is no sccl plan: it does not begin with SCCLPLAN"};
  if (bytes.size() < headerBytes)
    return Error{"the plan is truncated: it has " +
                 std::to_string(bytes.size()) + " bytes, its header alone " +
                 std::to_string(headerBytes)};
  uint32_t version = llvm::support::endian::read32le(bytes.data() + 8);
  if (version != formatVersion)
    return Error{"the plan has format version " + std::to_string(version) +
                 ", this is for version " + std::to_string(formatVersion)};
  uint64_t fileBytes = llvm::support::endian::read64le(bytes.data() + 24);
  if (bytes.size() != fileBytes || fileBytes > Limits::fileBytes)
    return Error{"the plan is truncated or too long: it has " +
                 std::to_string(bytes.size()) + " bytes and should have " +
                 std::to_string(fileBytes)};
  uint64_t manifestBytes = llvm::support::endian::read64le(bytes.data() + 16);
  if (manifestBytes > Limits::manifestBytes ||
      manifestBytes > bytes.size() - headerBytes)
    return Error{"the plan's manifest has " + std::to_string(manifestBytes) +
                 " bytes, more than the file or the limit"};
  std::array<uint8_t, 32> expected = contentHash(bytes, manifestBytes);
  if (!std::equal(expected.begin(), expected.end(),
                  bytes.bytes_begin() + hashedHeaderBytes))
    return Error{"the plan is damaged: its manifest does not have the SHA-256 "
                 "that its header says"};
  if (llvm::support::endian::read32le(bytes.data() + 12) != 0)
    return Error{"the plan has flags that this version does not know"};
  return manifestBytes;
}

/// True if `bytes` from `end` on are blobs where `serialize` places them, and
/// zeros between them.
static bool isFilled(llvm::StringRef bytes, uint64_t end,
                     const std::vector<BlobRange> &ranges) {
  std::vector<BlobRange> placed = ranges;
  if (placeBlobs(placed, alignToPage(end)) != bytes.size() || placed != ranges)
    return false;
  auto isZero = [](llvm::StringRef gap) {
    return gap.find_first_not_of('\0') == llvm::StringRef::npos;
  };
  for (const BlobRange &range : ranges) {
    if (!isZero(bytes.slice(end, range.offset)))
      return false;
    end = range.offset + range.bytes;
  }
  return isZero(bytes.drop_front(end));
}

Result<PlanView> plan::parse(llvm::StringRef bytes) {
  Result<uint64_t> manifestBytes = parseHeader(bytes);
  if (!manifestBytes)
    return Error{manifestBytes.error()};
  PlanView view;
  Result<Manifest> manifest =
      parseManifest(bytes.substr(headerBytes, *manifestBytes), view.ranges);
  if (!manifest)
    return Error{manifest.error()};
  view.manifest = std::move(*manifest);
  view.hash = llvm::toHex(bytes.slice(hashedHeaderBytes, headerBytes),
                          /*LowerCase=*/true);
  if (!isFilled(bytes, headerBytes + *manifestBytes, view.ranges))
    return Error{"the plan is broken: its blobs do not follow each other as "
                 "they should"};
  for (const BlobRange &range : view.ranges)
    view.blobs.push_back(bytes.substr(range.offset, range.bytes));
  return view;
}

std::optional<Error> plan::checkBlob(const PlanView &view, unsigned index) {
  if (blobHash(view.blobs[index]) == view.ranges[index].hash)
    return std::nullopt;
  return Error{"the plan is damaged: blob " + std::to_string(index) +
               " does not have the SHA-256 that the manifest says"};
}

Result<PlanView> plan::parseWhole(llvm::StringRef bytes) {
  Result<PlanView> view = parse(bytes);
  if (!view)
    return view;
  for (unsigned index = 0; index < view->blobs.size(); ++index)
    if (std::optional<Error> error = checkBlob(*view, index))
      return *error;
  return view;
}
