#!/usr/bin/env bash
# Builds build/release with a profile of mcpx's own work: compiles with counters, lets the daemon serve
# calls for some seconds (packaging/train.py), and compiles again with what was counted. Takes twice as
# long as the plain release build and makes a call some tenth cheaper.
#
# Usage: packaging/optimise.sh [--build-dir DIR] [TARGET...]
#   --build-dir DIR  default: build/release
#   TARGET...        what to build in the end; default: everything
# g++ only: with another compiler it is the plain release build.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/common.sh

build=build/release
if [ "${1:-}" = --build-dir ]; then
  [ $# -ge 2 ] || fail "--build-dir needs a directory"
  build=$2
  shift 2
fi
case ${1:-} in -*) sed -n '2,10p' "$0" | cut -c3-; exit 2 ;; esac
make() { ninja -C "$build" -k 20 "$@"; }
configure() { cmake --preset release -B "$build" -DMCPX_PROFILE="$1" >/dev/null; }

say "compiling with counters"
find "$build" -name '*.gcda' -delete 2>/dev/null || true
configure generate
make mcpxd mcpx-supervise mcpx-demo-server

say "counting"
python3 packaging/train.py "$build"

say "compiling with what was counted"
configure use
make "$@"
