# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What bash completes with the script $1.
. "$1"
compopt() { :; }
complete_word() {
  COMP_WORDS=(sccl "$@")
  COMP_CWORD=$#
  _sccl
  echo "${COMP_WORDS[$#]} -> ${COMPREPLY[*]}"
}
complete_word mach
complete_word machine --box
cd "$2" && touch "one two.mlir"
complete_word explain one
echo "${#COMPREPLY[@]} file"
