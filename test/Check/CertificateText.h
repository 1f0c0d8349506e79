//===- CertificateText.h - Certificates as text, and judged -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_CHECK_CERTIFICATETEXT_H
#define SCCL_TEST_CHECK_CERTIFICATETEXT_H

#include "sccl/Check/Certificate.h"

#include <gmock/gmock.h>

namespace sccl::testing {

/// 0 <-> 1 <-> 2, bandwidth 1 each way.
inline Topology line() { return *makeBuiltinTopology("line:3"); }

inline Collective make(CollectiveKind kind, unsigned ranks = 3,
                       unsigned root = 0, unsigned chunks = 0) {
  if (chunks == 0)
    chunks = sendsOneSegmentPerRank(kind) ? ranks : 1;
  return *Collective::make(kind, ranks, chunks, root);
}

inline std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(value));
  return text;
}

/// A certificate from its claim and the lines of its proof.
inline std::string textOf(const Topology &topology, const std::string &claim,
                          const std::string &proof) {
  return "sccl-certificate 1\nno schedule of " + claim + "\ntopology " +
         hex(fingerprint(topology)) + "\n" + proof + "end\n";
}

/// As one writes it by hand: without the hash at the end.
inline std::string withoutSeal(const std::string &text) {
  return text.substr(0, text.rfind("end")) + "end\n";
}

/// Parses and checks; the message, or "accepted".
inline std::string judge(const Topology &topology, const Collective &collective,
                         const std::string &claim, const std::string &proof) {
  std::string text = textOf(topology, claim, proof);
  auto certificate = parseCertificate(text);
  if (!certificate)
    return certificate.error();
  EXPECT_EQ(withoutSeal(printCertificate(*certificate)), text);
  return checkCertificate(*certificate, topology, collective)
      .value_or("accepted");
}

} // namespace sccl::testing

#endif // SCCL_TEST_CHECK_CERTIFICATETEXT_H
