#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What sccl does with one MPI, in the order of run-mpi.test.
# usage: run-mpi.sh openmpi|mpich FOLDER
set -eu
mpi=$1
folder=$2
inputs=$(dirname "$0")
run="--launcher=$mpi --bytes=4000 --iterations=5"

echo "== sccl starts mpirun"
sccl run "$inputs/pair-all_gather.mlir" $run
echo "== mpirun starts sccl, which finds out whose mpirun it was"
mpirun.$mpi -n 2 sccl run "$inputs/pair-all_reduce.mlir" --launcher=mpi \
  --bytes=4000 --iterations=5
echo "== other numbers of ranks"
mpirun.$mpi -n 1 sccl run "$inputs/pair-all_reduce.mlir" $run 2>&1 && exit 1
echo "== the other MPI"
[ "$mpi" = mpich ] && other=openmpi || other=mpich
mpirun.$mpi -n 1 sccl run "$inputs/pair-all_reduce.mlir" --launcher=$other \
  2>&1 && exit 1

sccl compile "$inputs/pair-halves-all_reduce.mlir" --target=host \
  -o "$folder/plan.sccl"
echo "== bench"
sccl bench "$folder/plan.sccl" --launcher=$mpi --to=64 --batches=1
echo "== tune"
sccl bench --tune "$folder/plan.sccl" --launcher=$mpi --to=8 --batches=1
echo "== MPI's own collective gives the same"
mpirun.$mpi -n 2 sccl-bench-$mpi "$folder/plan.sccl" 131072 2
echo "== links"
sccl machine --measure --ranks=2 --launcher=$mpi --bytes=64KiB --batches=2
