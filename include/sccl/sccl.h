/*===- sccl.h - Run compiled collectives ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The C interface of libsccl: join the other ranks, load plans that          *|
|* `sccl compile` wrote, and call collectives. See docs/examples.             *|
|*                                                                            *|
|* Every function but those that return text returns a result code. When it   *|
|* is not scclSuccess, scclGetLastErrorMessage() says more. No function       *|
|* throws, exits or installs a signal handler.                                *|
|*                                                                            *|
|* Thread safety. A plan may be used by many threads. A communicator belongs  *|
|* to one thread at a time, except for the functions that say otherwise.      *|
|* Different communicators are independent, also those of several ranks in    *|
|* one process. Collective functions must be called by all ranks, in the same *|
|* order. A thread that waits in a function is not cancelled.                 *|
|*                                                                            *|
|* Forks. A child has its parent's plans. Of its parent's communicators it    *|
|* may only destroy its copies, which unmaps their memory and leaves the      *|
|* parent alone; anything else returns scclErrorUnsupported.                  *|
\*===----------------------------------------------------------------------===*/

#ifndef SCCL_SCCL_H
#define SCCL_SCCL_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define SCCL_API
#else
#define SCCL_API __attribute__((visibility("default")))
#endif

/* An int for C++ as well, where other enums have no room for unknown values. */
#if defined(__cplusplus)
#define SCCL_INT : int
#else
#define SCCL_INT
#endif

/** Version of this interface: major * 10000 + minor * 100 + patch. */
#define SCCL_VERSION_CODE 200

#ifdef __cplusplus
extern "C" {
#endif

typedef enum scclResult SCCL_INT {
  scclSuccess = 0,
  scclErrorInvalidArgument = 1, /**< null, misaligned, overlapping, unknown */
  scclErrorInvalidPlan = 2,     /**< not a plan, damaged, other version */
  scclErrorMismatch = 3,        /**< ranks disagree on the plan or the call */
  scclErrorUnsupported = 4,     /**< the plan or device lacks what is asked */
  scclErrorOutOfMemory = 5,     /**< of the host or the device */
  scclErrorSystem = 6,          /**< the operating system refused something */
  scclErrorBusy = 7,            /**< a launch is in flight */
  scclErrorTimeout = 8,         /**< a rank did not arrive in time */
  scclErrorRankLost = 9,        /**< the process of a rank has ended */
  scclErrorAborted = 10,        /**< some rank called scclCommAbort */
  scclErrorDevice = 11,         /**< the device's driver reported an error */
  scclErrorInternal = 12
} scclResult;

/** Element types. A plan of a collective that only moves data has them all. */
typedef enum scclDataType SCCL_INT {
  scclInt8 = 0,
  scclUint8 = 1,
  scclInt32 = 2,
  scclUint32 = 3,
  scclInt64 = 4,
  scclUint64 = 5,
  scclFloat16 = 6,
  scclFloat32 = 7,
  scclFloat64 = 8,
  scclBfloat16 = 9,
  scclFloat8e4m3 = 10,
  scclFloat8e5m2 = 11
} scclDataType;

/** Reductions. Collectives that only move data ignore them. */
typedef enum scclRedOp SCCL_INT {
  scclSum = 0,
  scclProd = 1,
  scclMin = 2,
  scclMax = 3,
  scclAvg = 4
} scclRedOp;

typedef enum scclDeviceKind SCCL_INT {
  scclDeviceCPU = 0,
  scclDeviceCUDA = 1,
  scclDeviceHIP = 2
} scclDeviceKind;

/** A plan in memory. */
typedef struct scclPlanImpl *scclPlan;
/** One rank's membership in a group of ranks. */
typedef struct scclCommImpl *scclComm;

/**
 * Gathers `bytes` bytes from every rank: `mine` of rank r must end at
 * `all + r * bytes` on every rank. Returns 0, SCCL_ERROR_LATE or another error.
 * Collective functions alone call it, from their own thread, and wait for it.
 */
typedef int (*scclAllGatherFn)(void *context, const void *mine, void *all,
                               size_t bytes);

/** How a communicator behaves. Set it to SCCL_CONFIG_INITIALIZER first. */
typedef struct scclConfig {
  size_t size;           /**< sizeof(scclConfig), for later versions */
  scclDeviceKind device; /**< its driver is loaded when it is asked for */
  int deviceIndex;       /**< which GPU; CPUs have no index */
  double timeoutSeconds; /**< without progress on any rank, for a launch to be
                              given up; of a GPU once its stream is there */
  size_t scratchBytes;   /**< of this rank for each plan; 0: 256 MiB on a GPU,
                              else 64 MiB; launches of more go in pieces */
  int smBudget;      /**< multiprocessors that a kernel may take; 0: no limit */
  const char *order; /**< that plans must have, as --order takes it; or null */
  int oneRounding;   /**< not 0: plans must be of --one-rounding */
} scclConfig;
#define SCCL_CONFIG_INITIALIZER                                                \
  { sizeof(scclConfig), scclDeviceCPU, 0, 30.0, 0, 0, 0, 0 }

/** For scclTransport: whoever sends. */
#define SCCL_ANY_RANK (-1)
/** What an all-gather returns if some ranks have not come in time. */
#define SCCL_ERROR_LATE (-1)

/** A message that has ended. */
typedef struct scclCompletion {
  int request;
  int error; /**< 0, or what `errorText` knows */
  int peer;  /**< who has sent it; undefined for what was sent */
  /** That were received, or more than there was room for if the message was
   * longer; undefined for what was sent. */
  size_t bytes;
} scclCompletion;

/**
 * Messages between ranks on any hosts, for scclCommInitTransport. sccl-mpi.h
 * makes one of an MPI_Comm.
 *
 * Every message has a number that the caller gives, below what `reserve` was
 * told, and that is free again when `poll` has returned it. Messages between
 * two ranks with the same tag are received in the order in which they are sent.
 * Functions return 0, or an error of the transport; they do not wait, and but
 * for `reserve` need no memory.
 */
typedef struct scclTransport {
  size_t size;   /**< sizeof(scclTransport), for later versions */
  void *context; /**< the first argument of all functions */
  int rank, numRanks;
  int numTags; /**< tags are 0 to numTags - 1 */
  /** The same number for ranks that may share memory: they exchange messages
   * through it. Negative: this rank shares none. */
  int host;
  scclAllGatherFn allGather;
  int (*reserve)(void *context, int numRequests);
  int (*send)(void *context, int request, const void *data, size_t bytes,
              int peer, int tag);
  /** The same, but the message does not end before the receiver has begun to
   * take it. It tells how much is on the way: what is there cannot be overtaken
   * by what is urgent. */
  int (*sendAsking)(void *context, int request, const void *data, size_t bytes,
                    int peer, int tag);
  /** `bytes` is the most that it may have. `peer` may be SCCL_ANY_RANK. */
  int (*receive)(void *context, int request, void *data, size_t bytes, int peer,
                 int tag);
  /** Returns up to `most` messages that have ended, and how many: 0 of 0. */
  int (*poll)(void *context, scclCompletion *ended, int most, int *count);
  /** Gives up what is under way and frees the context. The last call. With
   * `failed` peers may be gone. */
  void (*close)(void *context, int failed);
  const char *(*errorText)(void *context, int error);
  /** Collective. Makes one of ranks as scclCommSplit numbers them, none for a
   * negative `color`. It may outlive this one. Null: not supported. */
  int (*split)(void *context, int color, int key, struct scclTransport *result);
  /** Not 0: any one thread may call these functions at a time, whatever others
   * do; scclLaunchAsync has one. Above 1: one polls between calls, too. */
  int anyThread;
  /** Bit 1 << kind: messages may be in GPU memory of that scclDeviceKind. */
  uint64_t devices;
} scclTransport;

/** What a plan is for. Strings live as long as the plan. */
typedef struct scclPlanInfo {
  size_t size; /**< set to sizeof(scclPlanInfo) before the call */
  const char *collective;
  int ranks;
  int root; /**< 0 if the collective has none */
  int combining;
  int numPrograms;
  int formatVersion;
  const char *hash; /**< SHA-256 of the contents, hexadecimal */
  const char *topology;
  const char *targets; /**< that it has code for: "sm_90 x86-64-v3" */
} scclPlanInfo;

/** How the buffers of a launch reach the program. */
typedef enum scclPath SCCL_INT {
  scclPathAuto = 0,
  scclPathDirect = 1, /**< peers access the caller's buffers */
  scclPathStaging = 2 /**< by way of the communicator's memory */
} scclPath;

/** What a launch executes, and why. */
typedef struct scclChoice {
  size_t size;         /**< set to sizeof(scclChoice) before the call */
  int program;         /**< index into the plan's programs */
  scclPath path;       /**< scclPathDirect only holds if all ranks can */
  size_t pieceBytes;   /**< of each segment per kernel launch; 0: all */
  char schedule[64];   /**< name of the schedule, cut off if it is longer */
  char reason[128];    /**< one line */
  int multiprocessors; /**< that a launch takes; scclCommSetChoice ignores it */
} scclChoice;

/** SCCL_VERSION_CODE of the library. Thread-safe. */
SCCL_API scclResult scclGetVersion(int *version);
/** A sentence for a result code. Never null. Thread-safe. */
SCCL_API const char *scclErrorString(scclResult result);
/**
 * What was wrong in the last call of this thread that failed: actual values and
 * limits. Valid until the next call that fails on this thread. Never null.
 */
SCCL_API const char *scclGetLastErrorMessage(void);
/**
 * For makers of transports: keeps `message` as that of a call of this thread
 * that failed. Returns `code`.
 */
SCCL_API scclResult scclReportError(scclResult code, const char *message);

/**
 * Reads and checks a plan. Its code is trusted as a library's is: a hash tells
 * damage, not malice. Refuses what others may write, SECURITY.md. Thread-safe.
 */
SCCL_API scclResult scclPlanLoad(const char *path, scclPlan *plan);
/** The same from memory, which is copied. Thread-safe. */
SCCL_API scclResult scclPlanLoadMemory(const void *data, size_t bytes,
                                       scclPlan *plan);
/** Communicators keep what they need of a plan. Thread-safe. */
SCCL_API scclResult scclPlanDestroy(scclPlan plan);
/** Thread-safe. */
SCCL_API scclResult scclPlanGetInfo(scclPlan plan, scclPlanInfo *info);

/**
 * Collective. Joins `numRanks` ranks as number `rank`; several hosts need
 * libsccl-ucx. Fails on every rank if it does on one, also for its arguments,
 * if versions differ or a rank comes twice. `allGather` and `context` must stay
 * valid until the communicator is destroyed. A null `config` is
 * SCCL_CONFIG_INITIALIZER.
 */
SCCL_API scclResult scclCommInit(int rank, int numRanks,
                                 scclAllGatherFn allGather, void *context,
                                 const scclConfig *config, scclComm *comm);
/**
 * Collective. The same for ranks that exchange messages, on any hosts, by plans
 * with code for the target "mpi". `transport` is copied, and closed when the
 * communicator is destroyed, or at once if this fails.
 *
 * Differences to ranks that share a machine: peers access memory of
 * scclMemAlloc on GPUs of one host alone. On a GPU calls return when all is
 * done, and no graph captures them, unless NCCL or RCCL sends. scclCommSplit
 * needs a transport that can be split; if no other thread may use it, scclWait
 * does what scclLaunchAsync was told. A call fails if nothing that it needs has
 * come for `timeoutSeconds`; then, whenever another rank gives up, and if ranks
 * make other calls, the communicator is out of use, and messages may still be
 * under way in the buffers of the call: MPI takes none back.
 */
SCCL_API scclResult scclCommInitTransport(const scclTransport *transport,
                                          const scclConfig *config,
                                          scclComm *comm);
/**
 * Collective. Makes the communicator able to execute `plan`; any number of
 * plans may be loaded, also several of one collective. The ranks must load the
 * same plans in the same order. Fails on every rank if it fails on one, or if
 * plans differ; then the communicator is as before. A plan that is loaded
 * already stays so.
 */
SCCL_API scclResult scclCommLoad(scclComm comm, scclPlan plan);
/** A colour for ranks that join no new group. */
#define SCCL_SPLIT_NOCOLOR (-1)
/**
 * Collective. Ranks with the same `color` join a new communicator, numbered by
 * `key`, and by their present number where keys are equal. It has no plans, and
 * is independent of `comm`, which may be destroyed before it. `*result` is null
 * for ranks with a negative colour. A null `config` is that of `comm`; the
 * device is always the one of `comm`, and so is an order that is null.
 */
SCCL_API scclResult scclCommSplit(scclComm comm, int color, int key,
                                  const scclConfig *config, scclComm *result);
SCCL_API scclResult scclCommRank(scclComm comm, int *rank);
SCCL_API scclResult scclCommCount(scclComm comm, int *numRanks);
/**
 * Not collective: launches of other ranks that still need this one time out.
 * Frees memory of scclMemAlloc that was not freed. No other thread may be using
 * `comm`, and streams must be done with its launches. Destroys it in any case,
 * but returns scclErrorInternal if, on a CPU, a program of a plan has written
 * beside the memory that this rank has for it. Null is allowed. Again, also for
 * a plan, it does nothing, and other calls fail, until 1024 others have gone.
 */
SCCL_API scclResult scclCommDestroy(scclComm comm);
/**
 * Gives up the launch in flight, if any, and all later ones, on all ranks: they
 * return scclErrorAborted. Thread-safe.
 */
SCCL_API scclResult scclCommAbort(scclComm comm);
/**
 * Has this thread, while it waits for other ranks in a launch, in scclWait, or
 * in any call for a communicator of scclCommSplit, call `interrupt` with
 * `context` some ten times a second; other threads do not. What that returns
 * other than 0 is as a call of scclCommAbort. For programs that have a say when
 * a user interrupts them. Null ends it. */
SCCL_API scclResult scclCommSetInterrupt(scclComm comm,
                                         int (*interrupt)(void *),
                                         void *context);
/**
 * scclSuccess, or why the communicator can no longer be used; the message says
 * which rank was the cause. Where ranks exchange messages, the thread that has
 * made the communicator, or any if the transport allows it, reads what others
 * have told, and ends launches in streams that are past `timeoutSeconds`; other
 * threads learn what was read before. Thread-safe.
 */
SCCL_API scclResult scclCommGetError(scclComm comm);

/**
 * The collectives, with NCCL's arguments. Each takes one of the plans that are
 * loaded for it, its `root` and the element type and reduction:
 *
 *  1. one that was tuned for this target and kind of ranks, before others;
 *  2. where the call is in place, one whose program for the size needs no copy
 *     then; with a root this does not count, because ranks cannot know it;
 *  3. the one that takes the least time for the size, as it was measured, or
 *     else as the cost model says;
 *  4. the one that was loaded last.
 *
 * scclQueryPlan tells. Returns scclErrorUnsupported if there is none; the
 * message names what is loaded. A `root` that is no rank is
 * scclErrorInvalidArgument, for this rank alone.
 *
 * `count` is the number of elements of one segment. Buffers have:
 *
 *   collective       send buffer         receive buffer
 *   all_gather       count               ranks * count
 *   all_reduce       count               count
 *   all_to_all       ranks * count       ranks * count
 *   broadcast        count on the root   count
 *   gather           count               ranks * count on the root
 *   reduce           count               count on the root
 *   reduce_scatter   ranks * count       count
 *   scatter          ranks * count       count
 *                    on the root
 *
 * A user-defined collective has `count` elements per chunk. Segments of ranks
 * follow each other in the order of the ranks. A buffer without elements may be
 * null. Buffers must be aligned to the element type. They may not overlap,
 * unless they are one as in MPI or NCCL: all_reduce, broadcast and reduce with
 * send == recv, all_gather with send == recv + rank * count, reduce_scatter
 * with recv == send + rank * count, all_to_all with send == recv, gather and
 * scatter likewise on the root.
 * All ranks must pass the same count, type and reduction, and all work in place
 * or none where that decides which plan is taken. A call without elements is a
 * call, and so is one that fails on a rank before others take part, because its
 * arguments are wrong or no plan serves it: it must on all ranks, or on none.
 * Differences are scclErrorMismatch; a call that returns scclSuccess has no
 * data of another one. A rank that waits for nobody may have returned by then:
 * it learns it within 50 ms, or over messages when it asks, from
 * scclCommGetError and all later calls. In streams of GPUs a call that fails is
 * none, and ranks of one host compare nothing.
 *
 * On a CPU `stream` must be null, and the call returns when this rank's part is
 * done: its receive buffer is complete, its send buffer may be reused. It also
 * waits for ranks that are 62 launches behind, which a root, or calls without
 * elements, may be ahead by. Where ranks share memory, a call for another plan,
 * count, type or reduction than the one before waits for all ranks to make it.
 *
 * On a GPU `stream` is a CUstream or hipStream_t of the device. The call
 * enqueues and returns; the collective happens in the order of the stream, or
 * whenever a graph that captured it is replayed. Null is the device's null
 * stream. What goes wrong later is told by scclCommGetError. Peers access
 * buffers in memory of scclMemAlloc if these are at the same place of the same
 * allocation on all ranks, which must be so on all of them or on none; other
 * memory is copied in the order of the stream. All ranks work in place, or none
 * does. Launches of one communicator follow each other in the same order on all
 * ranks, replays of graphs included. Ranks that share a GPU meet on the host
 * and return when all is done; they must pass different streams, or null.
 *
 * After an error the contents of the receive buffer are undefined. Returns
 * scclErrorBusy while another thread launches on `comm`. Does not allocate
 * memory, except for the first launch on a GPU with buffers at a new place.
 */
SCCL_API scclResult scclAllReduce(const void *send, void *recv, size_t count,
                                  scclDataType type, scclRedOp op,
                                  scclComm comm, void *stream);
SCCL_API scclResult scclReduceScatter(const void *send, void *recv,
                                      size_t count, scclDataType type,
                                      scclRedOp op, scclComm comm,
                                      void *stream);
SCCL_API scclResult scclAllGather(const void *send, void *recv, size_t count,
                                  scclDataType type, scclComm comm,
                                  void *stream);
SCCL_API scclResult scclAllToAll(const void *send, void *recv, size_t count,
                                 scclDataType type, scclComm comm,
                                 void *stream);
SCCL_API scclResult scclBroadcast(const void *send, void *recv, size_t count,
                                  scclDataType type, int root, scclComm comm,
                                  void *stream);
SCCL_API scclResult scclReduce(const void *send, void *recv, size_t count,
                               scclDataType type, scclRedOp op, int root,
                               scclComm comm, void *stream);
SCCL_API scclResult scclGather(const void *send, void *recv, size_t count,
                               scclDataType type, int root, scclComm comm,
                               void *stream);
SCCL_API scclResult scclScatter(const void *send, void *recv, size_t count,
                                scclDataType type, int root, scclComm comm,
                                void *stream);
/**
 * The same for the collective of one plan that is loaded, which may be a
 * user-defined one.
 */
SCCL_API scclResult scclLaunch(scclComm comm, scclPlan plan, const void *send,
                               void *recv, size_t count, scclDataType type,
                               scclRedOp op, void *stream);

/**
 * The same on a CPU, by a thread of the communicator: returns at once, unless
 * 64 launches are waiting. Launches happen in the order of these calls;
 * scclLaunch and its sisters come after those that wait. Buffers must stay
 * until scclWait has returned for the ticket, or a later one. On a GPU
 * scclErrorUnsupported: there all launches are enqueued.
 */
SCCL_API scclResult scclLaunchAsync(scclComm comm, scclPlan plan,
                                    const void *send, void *recv, size_t count,
                                    scclDataType type, scclRedOp op,
                                    uint64_t *ticket);
/**
 * Returns when the launch of scclLaunchAsync with this ticket, and so all
 * before it, are done: success, or how the first of them that did failed. After
 * a failure no later one is executed, and all return its code.
 */
SCCL_API scclResult scclWait(scclComm comm, uint64_t ticket);
/** For libraries on top, which check arguments themselves: counts a launch that
 * they refuse, as one that has failed on this rank; the others learn `why`. */
SCCL_API scclResult scclCommRefuse(scclComm comm, const char *why);

/**
 * Collective. Memory for buffers that peers can access, the fastest there is
 * between processes: other memory is copied by the operating system, or through
 * the communicator's own memory. With ranks as threads all memory is as good,
 * except on AMD GPUs. Aligned to a page and zeroed. `bytes` must be the same on
 * all ranks. Returns scclErrorOutOfMemory on all of them if they ask for more
 * than the machine, or a control group, has available.
 */
SCCL_API scclResult scclMemAlloc(scclComm comm, size_t bytes, void **memory);
/** Collective. Frees what the same scclMemAlloc call gave to all ranks. */
SCCL_API scclResult scclMemFree(scclComm comm, void *memory);
/**
 * Copies between any two addresses of the host and the communicator's device,
 * and returns when that is done. Waits for the device's null stream before.
 */
SCCL_API scclResult scclMemCopy(scclComm comm, void *to, const void *from,
                                size_t bytes);

/** Bytes of scratch and staging memory that this rank has, for all plans. */
SCCL_API scclResult scclQueryScratch(scclComm comm, size_t *bytes);
/**
 * The target that the device runs code for, "x86-64-v3" or "sm_90". Lives as
 * long as `comm`. Thread-safe.
 */
SCCL_API scclResult scclQueryTarget(scclComm comm, const char **target);
/**
 * Which plan the call of a collective would take, as its number in the order of
 * loading, from 0. `collective` is "all_reduce" or the like, `root` -1 if it
 * has none. Fails as the call would.
 */
SCCL_API scclResult scclQueryPlan(scclComm comm, const char *collective,
                                  int root, int inPlace, size_t count,
                                  scclDataType type, scclRedOp op, int *plan);
/** What scclLaunch would execute for these arguments, if peers can access the
 * buffers as far as the program needs; otherwise it takes another program of
 * the same schedule. */
SCCL_API scclResult scclQueryChoice(scclComm comm, scclPlan plan, size_t count,
                                    scclDataType type, scclRedOp op,
                                    scclChoice *choice);
/**
 * Fixes what later launches of `plan` execute, on all ranks alike; for
 * measurements. A null `choice` goes back to the plan's tables. Must not be
 * called while a launch is in flight.
 */
SCCL_API scclResult scclCommSetChoice(scclComm comm, scclPlan plan,
                                      const scclChoice *choice);

#ifdef __cplusplus
}
#endif

#endif /* SCCL_SCCL_H */
