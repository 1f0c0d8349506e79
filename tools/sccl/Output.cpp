//===- Output.cpp - What goes to terminals --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Output.h"
#include "Driver.h"

#include "sccl/Model/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace sccl;

namespace {
/// Has no buffer, so that characters come whole and in order with what others
/// write to the same stream.
class TextStream : public llvm::raw_ostream {
public:
  explicit TextStream(llvm::raw_ostream &stream)
      : raw_ostream(/*unbuffered=*/true), stream(stream) {}

private:
  void write_impl(const char *text, size_t size) override {
    stream << escapeControls({text, size});
  }
  uint64_t current_pos() const override { return stream.tell(); }

  llvm::raw_ostream &stream;
};
} // namespace

llvm::raw_ostream &driver::out() {
  static TextStream stream(llvm::outs());
  return stream;
}

llvm::raw_ostream &driver::err() {
  static TextStream stream(llvm::errs());
  return stream;
}

bool driver::makeFolder(llvm::StringRef path) {
  std::error_code error = llvm::sys::fs::create_directories(
      path, /*IgnoreExisting=*/true, llvm::sys::fs::all_all); // less the umask
  if (!error && !llvm::sys::fs::is_directory(path))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    fail("cannot create " + path + ": " + error.message());
  return !error;
}

std::string driver::fileStem(llvm::StringRef name) {
  std::string stem = name.str();
  for (char &letter : stem)
    if (!llvm::isAlnum(letter) && letter != '_' && letter != '-')
      letter = '_';
  return stem;
}
