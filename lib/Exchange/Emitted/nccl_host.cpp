// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++17, for nvcc with NCCL, for hipcc with RCCL, and for other compilers with
// a library of the same interface that works on memory of the host. Define
// SCCL_PROGRAM to have more than one such file in a program.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>
#define SCCL_GPU(name) hip##name
#elif defined(__CUDACC__)
#include <cuda_runtime.h>
#include <nccl.h>
#define SCCL_GPU(name) cuda##name
#else
#include <nccl.h>
#endif
#ifdef SCCL_GPU
#define SCCL_BOTH __host__ __device__
#else
#define SCCL_BOTH
#endif
#ifndef SCCL_PROGRAM
#define SCCL_PROGRAM sccl_program
#endif

namespace SCCL_PROGRAM {
#ifdef SCCL_GPU
using Stream = SCCL_GPU(Stream_t);
#else
using Stream = void *;
#endif

extern const int chunksPerSegment, numRanks;
extern const char *const programs[]; ///< by rank

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

struct Place {
  char buffer; ///< i, o or s
  size_t slot;
};

/// Of `count` chunks that are neighbours wherever they are; the first is number
/// `position` of its segment.
struct Line {
  std::string what; ///< send, recv, copy or sum
  size_t position, count;
  std::vector<Place> places; ///< what is written comes first
  std::vector<int> numbers;  ///< the peer, or the three weights of a sum
};

struct RankProgram {
  size_t inputs = 0, outputs = 0, slots = 0; ///< segments, and chunks
  /// Messages of a round are under way at once, then come copies and sums.
  std::vector<std::vector<Line>> rounds{1};
};

static RankProgram parse(const char *text) {
  RankProgram program;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, word;
    words >> what;
    if (what == "rank") {
      words >> word >> word >> program.inputs >> program.outputs >>
          program.slots;
    } else if (what == "round") {
      program.rounds.emplace_back();
    } else if (!what.empty()) {
      Line next{what, 0, 0, {}, {}};
      char plus;
      words >> next.position >> plus >> next.count;
      while (words >> word)
        if (word[0] >= '0' && word[0] <= '9')
          next.numbers.push_back(std::stoi(word));
        else
          next.places.push_back({word[0], std::stoul(word.substr(1))});
      program.rounds.back().push_back(std::move(next));
    }
  }
  return program;
}

static const RankProgram &read(int rank) {
  static std::mutex mutex;
  static std::map<int, RankProgram> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = known.find(rank);
  if (found == known.end())
    found = known.emplace(rank, parse(programs[rank])).first;
  return found->second;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

SCCL_BOTH inline float floatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
SCCL_BOTH inline uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

template <typename T> SCCL_BOTH T widen(T value) { return value; }
SCCL_BOTH inline float widen(Bfloat value) {
  return floatOf(uint32_t(value.bits) << 16);
}
SCCL_BOTH inline float widen(Half value) {
  uint32_t magnitude = value.bits & 0x7fff, sign = value.bits & 0x8000u;
  float result = magnitude < 0x7c00 ? floatOf(magnitude << 13) * 0x1p112f
                                    : floatOf(0x7f800000 | magnitude << 13);
  return floatOf(bitsOf(result) | sign << 16);
}

/// `value` in the type of the pointer, rounded to the nearest, to even.
template <typename T> SCCL_BOTH void narrow(T value, T *to) { *to = value; }
SCCL_BOTH inline void narrow(float value, Bfloat *to) {
  uint32_t bits = bitsOf(value);
  bool isNaN = (bits & 0x7fffffff) > 0x7f800000;
  to->bits =
      isNaN ? 0x7fc0 : uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
SCCL_BOTH inline void narrow(float value, Half *to) {
  uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff, result;
  if (magnitude > 0x7f800000)
    result = 0x7e00;
  else if (magnitude >= 0x477ff000) // rounds to infinity
    result = 0x7c00;
  else if (magnitude < 0x38800000) // is subnormal: an addition rounds
    result = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000;
  else
    result = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  to->bits = uint16_t(sign | result);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// What is added up, from the left to the right. Floats of less than 32 bits
/// are rounded once. An average divides the first operand and the others by
/// powers of two, and the result by `divisor` unless that is 0.
struct Sum {
  static constexpr int mostReads = 128;
  const void *reads[mostReads];
  void *write;
  int numReads, op;
  size_t length; ///< elements
  double left, right, divisor;
};

template <typename Wide> SCCL_BOTH Wide combine(int op, Wide a, Wide b) {
  if (op == ncclMin)
    return a < b || a != a ? a : b;
  if (op == ncclMax)
    return a > b || a != a ? a : b;
  if constexpr (std::is_integral_v<Wide>) {
    uint64_t x = uint64_t(a), y = uint64_t(b);
    return Wide(op == ncclProd ? x * y : x + y);
  } else {
    return op == ncclProd ? a * b : a + b;
  }
}

template <typename T> SCCL_BOTH void sumAt(const Sum &sum, size_t i) {
  using Wide = decltype(widen(T()));
  auto load = [&](int read) {
    Wide value = widen(static_cast<const T *>(sum.reads[read])[i]);
    if (std::is_floating_point_v<Wide> && sum.op == ncclAvg)
      value *= Wide(read == 0 ? sum.left : sum.right);
    return value;
  };
  Wide total = load(0);
  for (int read = 1; read < sum.numReads; ++read)
    total = combine(sum.op, total, load(read));
  // 8 bits do not hold every number of ranks.
  using Divided = std::conditional_t<std::is_signed_v<Wide>, int64_t, uint64_t>;
  using Quotient = std::conditional_t<std::is_integral_v<Wide>, Divided, Wide>;
  if (sum.op == ncclAvg && sum.divisor != 0)
    total = Wide(Quotient(total) / Quotient(sum.divisor));
  narrow(total, static_cast<T *>(sum.write) + i);
}

#ifdef SCCL_GPU
template <typename T> __global__ void sumKernel(Sum sum) {
  size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < sum.length;
       i += step)
    sumAt<T>(sum, i);
}
#endif

template <typename T> ncclResult_t addUp(const Sum &sum, Stream stream) {
#ifdef SCCL_GPU
  size_t blocks = (sum.length + 255) / 256;
  sumKernel<T> < <<blocks<1024 ? blocks : 1024, 256, 0, stream>>>(sum);
  return SCCL_GPU(GetLastError)() == SCCL_GPU(Success) ? ncclSuccess
                                                       : ncclUnhandledCudaError;
#else
  for (size_t i = 0; i < sum.length; ++i)
    sumAt<T>(sum, i);
  return stream ? ncclInvalidArgument : ncclSuccess;
#endif
}

static ncclResult_t addUp(const Sum &sum, ncclDataType_t type, Stream stream) {
  switch (type) {
  case ncclInt8:
    return addUp<int8_t>(sum, stream);
  case ncclUint8:
    return addUp<uint8_t>(sum, stream);
  case ncclInt32:
    return addUp<int32_t>(sum, stream);
  case ncclUint32:
    return addUp<uint32_t>(sum, stream);
  case ncclInt64:
    return addUp<int64_t>(sum, stream);
  case ncclUint64:
    return addUp<uint64_t>(sum, stream);
  case ncclFloat16:
    return addUp<Half>(sum, stream);
  case ncclFloat32:
    return addUp<float>(sum, stream);
  case ncclFloat64:
    return addUp<double>(sum, stream);
  case ncclBfloat16:
    return addUp<Bfloat>(sum, stream);
  default:
    return ncclInvalidArgument;
  }
}

/// 0 for types that are not summed up.
static size_t elementBytes(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64:
    return 8;
  default:
    return 0;
  }
}

static ncclResult_t copy(void *to, const void *from, size_t bytes,
                         Stream stream) {
#ifdef SCCL_GPU
  auto code = SCCL_GPU(MemcpyAsync)(to, from, bytes,
                                    SCCL_GPU(MemcpyDeviceToDevice), stream);
  return code == SCCL_GPU(Success) ? ncclSuccess : ncclUnhandledCudaError;
#else
  std::memmove(to, from, bytes);
  return stream ? ncclInvalidArgument : ncclSuccess;
#endif
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Buffers are rows of segments of `segment` bytes, each cut into chunks that
/// begin at multiples of 16: the last ones may be short or empty.
struct Memory {
  char *input, *output, *scratch;
  size_t segment, stride;

  Memory(const void *input, void *output, void *scratch, size_t segment)
      : input(static_cast<char *>(const_cast<void *>(input))),
        output(static_cast<char *>(output)),
        scratch(static_cast<char *>(scratch)), segment(segment) {
    size_t chunks = size_t(chunksPerSegment);
    stride = ((segment + chunks - 1) / chunks + 15) / 16 * 16;
  }
  size_t start(size_t slot) const {
    size_t offset = slot % chunksPerSegment * stride;
    return slot / chunksPerSegment * segment +
           (offset < segment ? offset : segment);
  }
  size_t bytes(const Line &line) const {
    return start(line.position + line.count) - start(line.position);
  }
  char *at(const Place &place) const {
    if (place.buffer == 's')
      return scratch + place.slot * stride;
    return (place.buffer == 'i' ? input : output) + start(place.slot);
  }
};

/// The bytes of `scratch` that `run` needs: more where `overlaps`, since input
/// and output may share memory then. `count` is of elements of a segment.
size_t scratchBytes(int rank, size_t count, ncclDataType_t type,
                    bool overlaps) {
  const RankProgram &program = read(rank);
  size_t segment = count * elementBytes(type);
  size_t slots =
      program.slots * Memory(nullptr, nullptr, nullptr, segment).stride;
  return slots + (overlaps ? program.inputs * segment : 0);
}

static ncclResult_t sumUp(const Line &line, const Memory &memory,
                          ncclDataType_t type, ncclRedOp_t op, Stream stream) {
  Sum sum{};
  sum.numReads = int(line.places.size()) - 1;
  if (sum.numReads > Sum::mostReads || op < ncclSum || op > ncclAvg)
    return ncclInvalidUsage;
  for (int read = 0; read < sum.numReads; ++read)
    sum.reads[read] = memory.at(line.places[read + 1]);
  sum.write = memory.at(line.places[0]);
  sum.op = op;
  sum.length = memory.bytes(line) / elementBytes(type);
  bool isFloat = type == ncclFloat16 || type == ncclBfloat16 ||
                 type == ncclFloat32 || type == ncclFloat64;
  sum.left = 1.0 / double(uint64_t(1) << line.numbers[0]);
  sum.right = 1.0 / double(uint64_t(1) << line.numbers[1]);
  sum.divisor = line.numbers[2];
  // The operands have been divided by the least power of two that is no
  // smaller.
  for (int power = 1; isFloat && power < line.numbers[2]; power *= 2)
    sum.divisor /= 2;
  return sum.length == 0 ? ncclSuccess : addUp(sum, type, stream);
}

static ncclResult_t exchange(const std::vector<Line> &round,
                             const Memory &memory, ncclComm_t comm,
                             Stream stream) {
  if (ncclResult_t code = ncclGroupStart())
    return code;
  ncclResult_t code = ncclSuccess;
  for (const Line &line : round) {
    size_t bytes = memory.bytes(line);
    if (code != ncclSuccess || bytes == 0)
      continue;
    if (line.what == "send")
      code = ncclSend(memory.at(line.places[0]), bytes, ncclUint8,
                      line.numbers[0], comm, stream);
    else if (line.what == "recv")
      code = ncclRecv(memory.at(line.places[0]), bytes, ncclUint8,
                      line.numbers[0], comm, stream);
  }
  ncclResult_t ended = ncclGroupEnd();
  return code != ncclSuccess ? code : ended;
}

/// Executes the program of this rank; all ranks of `comm` call it. `count` is
/// the number of elements of a segment, `scratch` has scratchBytes() and is
/// aligned to 16. A rank without an input or an output may pass null. `op` is
/// for collectives that reduce.
ncclResult_t run(const void *input, void *output, void *scratch, size_t count,
                 ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                 Stream stream) {
  int rank = 0, size = 0;
  if (ncclResult_t code = ncclCommUserRank(comm, &rank))
    return code;
  if (ncclResult_t code = ncclCommCount(comm, &size))
    return code;
  if (size != numRanks || elementBytes(type) == 0)
    return ncclInvalidArgument;
  const RankProgram &program = read(rank);
  Memory memory(input, output, scratch, count * elementBytes(type));
  size_t inputBytes = program.inputs * memory.segment;
  size_t outputBytes = program.outputs * memory.segment;
  if ((inputBytes && !input) || (outputBytes && !output) ||
      (!scratch && scratchBytes(rank, count, type, false)))
    return ncclInvalidArgument;
  if (memory.input < memory.output + outputBytes &&
      memory.output < memory.input + inputBytes) {
    char *own = memory.scratch + program.slots * memory.stride;
    if (ncclResult_t code = copy(own, input, inputBytes, stream))
      return code;
    memory.input = own;
  }
  for (const std::vector<Line> &round : program.rounds) {
    if (ncclResult_t code = exchange(round, memory, comm, stream))
      return code;
    for (const Line &line : round) {
      ncclResult_t code = ncclSuccess;
      if (line.what == "copy")
        code = copy(memory.at(line.places[0]), memory.at(line.places[1]),
                    memory.bytes(line), stream);
      else if (line.what == "sum")
        code = sumUp(line, memory, type, op, stream);
      if (code != ncclSuccess)
        return code;
    }
  }
  return ncclSuccess;
}

} // namespace SCCL_PROGRAM
