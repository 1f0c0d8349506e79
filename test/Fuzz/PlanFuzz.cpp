//===- PlanFuzz.cpp - Plans, and manifests under a right hash -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Plan/Plan.h"

using namespace sccl;

/// A whole plan, or a manifest alone: the hashes of a plan hide the rest of the
/// reader from most damage.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  if (!bytes.starts_with("{")) {
    (void)plan::parseWhole(bytes);
    return 0;
  }
  std::vector<plan::BlobRange> blobs;
  Result<plan::Manifest> manifest = plan::parseManifest(bytes, blobs);
  if (manifest)
    demand(plan::manifestText(*manifest, blobs) == bytes.rtrim(' '),
           "a manifest prints as it was read");
  return 0;
}
