"""Sums a vector over ranks that are threads: threads.py libsccl.so PLAN."""
import ctypes as c, sys, threading

sccl = c.CDLL(sys.argv[1])
sccl.scclGetLastErrorMessage.restype = c.c_char_p
GATHER = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t)
RANKS, FLOAT32, SUM = 2, 7, 0
meeting, board = threading.Barrier(RANKS), [b""] * RANKS

def check(result):
    if result:
        sys.exit(sccl.scclGetLastErrorMessage().decode())

def run(rank, plan):
    def gather(_, mine, everyone, size):
        board[rank] = c.string_at(mine, size)
        meeting.wait()
        c.memmove(everyone, b"".join(board), size * RANKS)
        meeting.wait()
        return 0
    comm, keep = c.c_void_p(), GATHER(gather)
    check(sccl.scclCommInit(plan, rank, RANKS, keep, None, None, c.byref(comm)))
    send, recv = (c.c_float * 4)(1, 2, 3, rank), (c.c_float * 4)()
    check(sccl.scclLaunch(comm, send, recv, c.c_size_t(4), FLOAT32, SUM, None))
    print(f"rank {rank}: {list(recv)}\n", end="")
    check(sccl.scclCommDestroy(comm))

plan = c.c_void_p()
check(sccl.scclPlanLoad(sys.argv[2].encode(), c.byref(plan)))
ranks = [threading.Thread(target=run, args=(r, plan)) for r in range(RANKS)]
[t.start() for t in ranks]
[t.join() for t in ranks]
