#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Plans for messages with one MPI, in the order of run-messages.test.
# usage: run-messages.sh openmpi|mpich FOLDER
set -eu
mpi=$1
folder=$2
inputs=$(dirname "$0")
run="--launcher=$mpi --iterations=4"

echo "== collectives"
for name in pair-all_gather pair-halves-all_reduce pair-all_to_all ring4-all_gather \
  line4-reduce ring4-reduce_scatter mesh3-all_reduce; do
  sccl compile "$inputs/$name.mlir" --target=mpi -o "$folder/$name.sccl"
  sccl run "$folder/$name.sccl" $run --bytes=40000
done
echo "== many pieces, and next to nothing"
sccl run "$folder/pair-halves-all_reduce.sccl" $run --bytes=3MiB
sccl run "$folder/ring4-all_gather.sccl" $run --bytes=4
echo "== in place"
sccl run "$folder/pair-halves-all_reduce.sccl" $run --bytes=100000 --in-place
echo "== bench and tune"
sccl bench "$folder/pair-all_gather.sccl" --launcher=$mpi --from=64 --to=64 \
  --batches=1
sccl bench --tune "$folder/pair-all_gather.sccl" --launcher=$mpi --to=8 --batches=1
echo "== a plan for both runs through shared memory here"
sccl compile "$inputs/pair-all_gather.mlir" --target=mpi --target=host \
  -o "$folder/both.sccl"
sccl run "$folder/both.sccl" $run --bytes=40000
echo "== another plan on one rank"
mpirun.$mpi -n 1 sccl run "$folder/pair-all_gather.sccl" $run --bytes=4000 : \
  -n 1 sccl run "$folder/pair-all_to_all.sccl" $run --bytes=4000 2>&1 && exit 1
echo "== without mpirun"
sccl run "$folder/pair-all_gather.sccl" --bytes=4000 2>&1 && exit 1
exit 0
