//===- PriceTables.h - Columns and rows of a price model --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the linear program has its columns and rows, one for each orbit.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_PRICETABLES_H
#define SCCL_LIB_BOUNDS_PRICETABLES_H

#include "Problem.h"

#include <vector>

namespace sccl::bounds {

/// In place of a column or row that there is not.
constexpr unsigned none = ~0u;

/// Pairs (i, x), numbered i * width + x, with their orbits.
struct PairOrbits {
  size_t width = 0;
  Orbits orbits;

  unsigned classOf(size_t i, size_t x) const {
    return orbits.classOf[i * width + x];
  }
  unsigned sizeOf(size_t i, size_t x) const {
    return orbits.sizes[classOf(i, x)];
  }
  size_t numClasses() const { return orbits.sizes.size(); }
  /// Calls visit(i, x) for the first pair of each class.
  template <typename Visitor> void visitFirsts(Visitor visit) const {
    for (unsigned first : orbits.representatives)
      visit(first / width, first % width);
  }
};

/// Columns or rows of the program for (class, step), `none` where there is
/// none.
class StepTable {
public:
  void resize(size_t classes, unsigned columnCount) {
    columns = columnCount;
    entries.assign(classes * columns, none);
  }
  unsigned &at(size_t cls, unsigned step) {
    return entries[cls * columns + step];
  }
  unsigned at(size_t cls, unsigned step) const {
    return entries[cls * columns + step];
  }

private:
  unsigned columns = 0;
  std::vector<unsigned> entries;
};

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_PRICETABLES_H
