//===- TablesPage.h - Tables as one HTML file -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_REPORT_TABLESPAGE_H
#define SCCL_REPORT_TABLESPAGE_H

#include "sccl/Report/Pictures.h"

namespace sccl::report {

struct PageTable {
  std::string heading;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows; ///< as long as `columns`
};

/// What is known of something whose sends nobody knows, as a plan.
struct TablesPage {
  std::string title, summary;
  std::vector<FrontierMark> marks; ///< of what there is to choose from
  std::vector<TimeCurve> curves;   ///< of what is chosen
  std::vector<PageTable> tables;
};

/// A file that needs no other one, and no network. Equal pages give equal
/// bytes.
std::string tablesPageText(const TablesPage &page);

} // namespace sccl::report

#endif // SCCL_REPORT_TABLESPAGE_H
