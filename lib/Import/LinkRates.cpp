//===- LinkRates.cpp - What chips are known to carry ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
/// A chip, under the names that tools have for it.
struct KnownChip {
  StringRef architecture; ///< as "sm_90"
  StringRef products;     ///< parts of names, joined by bars
  const char *kind;
  int num, den;      ///< GB/s of one link in one direction
  unsigned maxLinks; ///< of a GPU
};
} // namespace

static const KnownChip knownChips[] = {
    {"sm_60", "P100", "NVLink1", 20, 1, 4},
    {"sm_70", "V100", "NVLink2", 25, 1, 6},
    {"sm_75", "RTX 8000|RTX 6000", "NVLink2", 25, 1, 2},
    {"sm_80", "A100|A800|A30", "NVLink3", 25, 1, 12},
    {"sm_86", "A6000|A40|RTX 3090", "NVLink3", 225, 16, 4},
    {"sm_90", "H100|H200|H800|H20|GH200", "NVLink4", 25, 1, 18},
    {"sm_100", "B200|B100|GB200", "NVLink5", 50, 1, 18},
    {"sm_103", "B300|GB300", "NVLink5", 50, 1, 18},
    {"sm_107", "VR200|R200", "NVLink6", 50, 1, 36},
    {"gfx906", "MI50|MI60", "xGMI2", 33, 1, 2},
    {"gfx908", "MI100", "xGMI2", 46, 1, 3},
    {"gfx90a", "MI210|MI250", "xGMI3", 50, 1, 8},
    {"gfx942", "MI300|MI308|MI325", "xGMI4", 64, 1, 7},
    {"gfx950", "MI350|MI355", "xGMI4", 384, 5, 7},
};

static const KnownChip *findChip(StringRef chip) {
  for (const KnownChip &known : knownChips) {
    if (chip == known.architecture)
      return &known;
    llvm::SmallVector<StringRef> products;
    known.products.split(products, '|');
    for (StringRef product : products)
      if (chip.contains(product))
        return &known;
  }
  return nullptr;
}

LinkRate import::linkRateOf(StringRef vendor, StringRef chip) {
  if (const KnownChip *known = findChip(chip))
    return {known->kind,
            {Rational(known->num, known->den),
             std::string(known->kind) + " from " + chip.str()}};
  if (vendor == "amd")
    return {"xGMI",
            {50, "assumed: 50 GB/s a link; give --link-rate if you know it"}};
  return {"NVLink",
          {25,
           "assumed: 25 GB/s a link, as NVLink 2 to 4 have; 50 for NVLink 5 "
           "(--link-rate=50)"}};
}

bool import::isKnownChip(StringRef chip) { return findChip(chip); }

unsigned import::maxLinksOf(StringRef chip) {
  const KnownChip *known = findChip(chip);
  return known ? known->maxLinks : 18;
}
