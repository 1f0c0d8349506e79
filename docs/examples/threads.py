"""Sums a vector over ranks that are threads: threads.py libsccl.so PLAN."""
import concurrent.futures, ctypes as c, sys, threading
sccl, plan, RANKS, FLOAT32, SUM = c.CDLL(sys.argv[1]), c.c_void_p(), 2, 7, 0
sccl.scclGetLastErrorMessage.restype = c.c_char_p
check = lambda code: code and sys.exit(sccl.scclGetLastErrorMessage().decode())
meeting, board = threading.Barrier(RANKS), [b""] * RANKS
@c.CFUNCTYPE(c.c_int, c.c_size_t, c.c_void_p, c.c_void_p, c.c_size_t)
def gather(rank, mine, everyone, size):
    board[rank] = c.string_at(mine, size)
    meeting.wait()
    c.memmove(everyone, b"".join(board), size * RANKS)
    return meeting.wait() * 0  # success
def run(rank):
    comm, send, recv = c.c_void_p(), (c.c_float * 4)(1, 2, 3, rank), (c.c_float * 4)()
    check(sccl.scclCommInit(rank, RANKS, gather, c.c_size_t(rank), None, c.byref(comm)))
    check(sccl.scclCommLoad(comm, plan))
    check(sccl.scclAllReduce(send, recv, c.c_size_t(4), FLOAT32, SUM, comm, None))
    return sccl.scclCommDestroy(comm) or f"rank {rank}: {list(recv)}"
check(sccl.scclPlanLoad(sys.argv[2].encode(), c.byref(plan)))
print(*concurrent.futures.ThreadPoolExecutor(RANKS).map(run, range(RANKS)), sep="\n")
