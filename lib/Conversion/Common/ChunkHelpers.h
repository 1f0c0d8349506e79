//===- ChunkHelpers.h - Code that walks over chunks -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_CHUNKHELPERS_H
#define SCCL_LIB_CONVERSION_COMMON_CHUNKHELPERS_H

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;
struct TransferShape;

/// Builds @coll_transfer or @coll_reduce, as `shape` says, with its suffix.
///
/// The function handles the chunks [position, position + count) of a segment,
/// as far as the segment reaches. A buffer is a pointer, the number of a
/// segment in it and the number of a chunk in that segment; addresses and the
/// stride of chunks, see chunkStride() of KernelABI.h, are computed there and
/// not by the caller, whose registers they would fill, and what is a constant
/// for the caller comes in 32 bits. With one part the run is one piece; with
/// several, block b takes the b-th slice of every chunk, so that a slice has
/// the same blocks on every hop, and those of channels that are spread nest. Of
/// LL words a run is always one piece, and the blocks of its BlockShare have it
/// by themselves where that is enough.
///
/// Arguments: for each buffer, the destination first, its pointer, segment and
/// chunk; position and count of the chunks; bytes of the segment and from one
/// segment to the next; chunks per segment; number of the block, and of parts
/// with `doublingsShift`; with LL words the launch and the address of the abort
/// word; on the host without LL words the chunks in the buffers of all ranks;
/// for averages the AverageWord.
void buildChunkHelper(CodeBuilder &code, const HelperOptions &options,
                      const TransferShape &shape);

/// Builds @coll_put, the same as @coll_transfer for @coll_gin_put: buffers
/// begin at offsets in windows, in place of addresses. The last arguments are
/// the NcclArguments, the peer, the numbers of the destination and of the
/// source among its windows, and the number of a context.
void buildPutHelper(CodeBuilder &code, const HelperOptions &options);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_CHUNKHELPERS_H
