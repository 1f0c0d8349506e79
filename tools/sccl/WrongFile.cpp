//===- WrongFile.cpp - Messages about files of another kind ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WrongFile.h"

#include "Driver.h"

#include "sccl/Import/Import.h"

using namespace sccl;

static FileKind kindOf(llvm::StringRef path, llvm::StringRef text) {
  FileKind kind = recognizeFile({text.data(), text.size()});
  // Recognizing a machine takes long for long texts, and machines are short.
  constexpr size_t mostBytes = 1 << 22;
  if (kind != FileKind::Unknown || text.size() > mostBytes)
    return kind;
  return recognizeFormat({path.str(), text.str()}) ? FileKind::Machine : kind;
}

bool driver::isWrongFile(llvm::StringRef path, llvm::StringRef text,
                         llvm::ArrayRef<FileKind> expected) {
  FileKind kind = kindOf(path, text);
  if (kind == FileKind::Unknown || llvm::is_contained(expected, kind))
    return false;
  fail(path + " is " + llvm::StringRef(nameOf(kind)) + "; " +
       llvm::StringRef(useOf(kind)));
  return true;
}
