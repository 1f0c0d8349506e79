//===- BytecodeVersion.h - The version of a dialect in bytecode -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two dialects change together, so they have one version. Attributes go by
// name in what sccl-opt writes: an attribute that may be absent needs no new
// version.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_BYTECODEVERSION_H
#define SCCL_DIALECT_BYTECODEVERSION_H

#include "mlir/Bytecode/BytecodeImplementation.h"

namespace sccl {

/// The version of the dialects. Raise it when an op, attribute or type of an
/// older file means something else, or does not exist any more.
inline constexpr uint64_t dialectVersion = 1;

/// Writes the version of a dialect into bytecode, and refuses newer ones.
class BytecodeVersion : public mlir::BytecodeDialectInterface {
public:
  explicit BytecodeVersion(mlir::Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(mlir::DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(dialectVersion);
  }

  /// The version of a file. Emits an error and returns null if it is newer.
  std::unique_ptr<mlir::DialectVersion>
  readVersion(mlir::DialectBytecodeReader &reader) const override {
    uint64_t version = 0;
    if (failed(reader.readVarInt(version)))
      return nullptr;
    if (version <= dialectVersion)
      return std::make_unique<mlir::DialectVersion>();
    reader.emitError() << "dialect " << getDialect()->getNamespace()
                       << " has version " << version
                       << " in this file, and at most " << dialectVersion
                       << " is known here: a newer sccl wrote it";
    return nullptr;
  }
};

} // namespace sccl

#endif // SCCL_DIALECT_BYTECODEVERSION_H
