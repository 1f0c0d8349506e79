# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For the shell that starts the ranks, on every host: source DIR/env.sh in bash.
# A call takes the first algorithm that serves its collective, size, place and
# number of ranks, if its count is a multiple of what set.json says; all others
# go to the library's own algorithms.
sccl_set=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
export MSCCL_ALGO_DIR="$sccl_set/algorithms"
export NCCL_MSCCL_ENABLE=1
export RCCL_MSCCL_ENABLE=1 RCCL_MSCCL_FORCE_ENABLE=1
unset sccl_set
