#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs ranks of scclCommInit, without MPI, on two hosts that are network namespaces with a
# cable between them: messages go by UCX and TCP. Then one of them dies, and then the
# cable is cut. Needs root, and says so elsewhere.
# usage: hosts.sh PYTHON PLAN FOLDER    a plan for 4 ranks with code for messages
set -eu
python=$1
plan=$(realpath "$2")
folder=$3
skip() {
  echo "skipped: $1"
  exit 0
}
[ "$(id -u)" = 0 ] || skip "emulated hosts need root"
command -v ip > /dev/null || skip "there is no iproute2"
one=sccl-one-$$
two=sccl-two-$$
ip netns add $one 2> /dev/null || skip "no network namespaces can be made"
trap 'ip netns del $one; ip netns del $two 2> /dev/null' EXIT
ip netns add $two
ip -n $one link add v0 type veth peer name v0 netns $two 2> /dev/null ||
  skip "no cables can be made"
number=1
for host in $one $two; do
  ip -n $host address add 10.99.99.$number/24 dev v0
  ip -n $host link set v0 up
  ip -n $host link set lo up
  number=$((number + 1))
done
for host in $one $two; do
  for turn in 1 2 3 4 5 6 7 8 9 10; do
    ip -n $host link show v0 | grep -q 'state UP' && break
    sleep 0.2
  done
done

# PID and boot are the same in both, so which host a rank is on has to be said.
export SCCL_RANKS_PER_HOST=2 UCX_TLS=tcp UCX_NET_DEVICES=v0 UCX_LOG_LEVEL=fatal
ranks() {
  rm -rf "$folder"
  mkdir -p "$folder"
  for rank in 0 1 2 3; do
    [ $rank -lt 2 ] && host=$one || host=$two
    timeout -k 1 60 ip netns exec $host "$python" \
      "$(dirname "$0")/Inputs/host_rank.py" $rank 4 "$folder" "$plan" "$@" &
  done
}
echo "== well"
ranks
wait
echo "== rank 3 dies"
ranks 3
wait
echo "== the cable is cut"
ranks 4
sleep 2
ip -n $one link set v0 down
wait
