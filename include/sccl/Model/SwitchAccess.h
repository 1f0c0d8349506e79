//===- SwitchAccess.h - What switches can do for GPUs -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some chips have instructions that a switch carries out: it copies what is
// stored to all GPUs of a group, and reduces what is loaded from them
// (`multimem` of PTX). Whether a machine has such a switch is another question.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SWITCHACCESS_H
#define SCCL_MODEL_SWITCHACCESS_H

#include "sccl/Model/Chip.h"
#include "sccl/Model/ElementType.h"

namespace sccl {

/// True if `chip` has the instructions: NVIDIA's from sm_90 on. The PTX ISA,
/// section "multimem".
bool hasSwitchAccess(const Chip &chip);

/// True if there is an instruction that loads the `reduction` of elements of
/// this type from all GPUs of a group, on every chip with switch access. The
/// same section of the PTX ISA has the types; those of 8 bits are left out,
/// which only sm_100a and its like have.
bool switchReduces(Element element, Reduction reduction);

} // namespace sccl

#endif // SCCL_MODEL_SWITCHACCESS_H
