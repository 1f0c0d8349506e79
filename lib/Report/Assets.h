//===- Assets.h - Files that are part of pages ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lib/Report/Page holds, as the build found it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_REPORT_ASSETS_H
#define SCCL_LIB_REPORT_ASSETS_H

namespace sccl::report::assets {

const char *pictureColors(); ///< colors.css
const char *pictureRules();  ///< picture.css
const char *pageStyle();     ///< page.css
const char *pageScript();    ///< page.js
const char *pageText();      ///< page.html, with places for the others
const char *headText();      ///< head.html, likewise
const char *tablesText();    ///< tables.html, likewise

} // namespace sccl::report::assets

#endif // SCCL_LIB_REPORT_ASSETS_H
