//===- CertificateFuzz.cpp - Certificates of bounds ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Check/Certificate.h"
#include "sccl/Model/Topology.h"

using namespace sccl;

/// What is read prints as it was, and can be checked, for whatever it is.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Result<Certificate> certificate = parseCertificate(text);
  if (!certificate)
    return 0;
  std::string printed = printCertificate(*certificate);
  size_t hash = 16;
  demand(printed == text || printed.substr(0, printed.size() - hash - 2) ==
                                text.substr(0, text.size() - 1),
         "a certificate prints as it was read");
  static const Topology ring = *makeBuiltinTopology("ring:4");
  Result<Collective> collective = Collective::make(
      certificate->kind == CollectiveKind::Custom ? CollectiveKind::AllGather
                                                  : certificate->kind,
      4, 4, std::min(certificate->root, 3u));
  certificate->topologyPrint = fingerprint(ring);
  (void)checkCertificate(*certificate, ring, *collective);
  return 0;
}
