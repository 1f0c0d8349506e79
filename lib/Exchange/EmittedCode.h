//===- EmittedCode.h - Code that is emitted as it is ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lib/Exchange/Emitted holds, as the build found it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_EMITTEDCODE_H
#define SCCL_LIB_EXCHANGE_EMITTEDCODE_H

namespace sccl::exchange::emitted {

const char *torchP2P();         ///< torch_p2p.py
const char *ncclHost();         ///< nccl_host.cpp
const char *mscclppRegister();  ///< mscclpp_register.cpp
const char *mscclEnvironment(); ///< msccl_env.sh

} // namespace sccl::exchange::emitted

#endif // SCCL_LIB_EXCHANGE_EMITTEDCODE_H
