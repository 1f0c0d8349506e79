# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Read by scripts that run on emulated hosts: ends them with a message where there can
# be none. $netbox is the command that makes such hosts.
skip() {
  echo "skipped: $1"
  exit 0
}
[ "$(id -u)" = 0 ] || skip "emulated hosts need root"
[ -x "$netbox" ] || skip "there is no $netbox"
command -v ip > /dev/null && command -v tc > /dev/null || skip "there is no iproute2"
