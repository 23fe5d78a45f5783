#!/usr/bin/env bash
# CPU per call: mcpx in front of one fast HTTP upstream, against nginx as a plain reverse proxy in front
# of the same. Both, the load generator and the upstream on one core, in turn, so that the ratio of one
# run carries over between machines. Fails when mcpx takes more than LIMIT times nginx.
#
# Usage: test/bench/run.sh [--rounds N] [--seconds S] [--core N]
# The reference upstream and the load generator are read from $MCPX_BENCH_DIR, else from ../shared/bench
# beside the project; without them the benchmark is skipped. MCPX_BUILD_DIR names an optimised build.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=5 seconds=2 core=1
readonly limit=1.5
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --core) core=$2; shift ;;
    *) sed -n '2,10p' "$0" | cut -c3-; exit 2 ;;
  esac
  shift
done

source_dir=${MCPX_BENCH_DIR:-../shared/bench}/src
if [ ! -r "$source_dir/mcpload.cpp" ]; then
  echo "bench: skipped, no load generator in $source_dir"
  exit 0
fi
build=${MCPX_BUILD_DIR:-build/release}
mcpxd=$build/bin/mcpxd
[ -x "$mcpxd" ] || { echo "bench: $mcpxd is not built (cmake --preset release)" >&2; exit 1; }

run=$(mktemp -d)
pids=()
finish() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$run"
}
trap finish EXIT

mkdir -p build/bench
for program in refup mcpload; do
  if [ "$source_dir/$program.cpp" -nt "build/bench/$program" ]; then
    g++ -std=c++20 -O2 -o "build/bench/$program" "$source_dir/$program.cpp" -lpthread
  fi
done

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
upstream_port=$(free_port) nginx_port=$(free_port) mcpx_port=$(free_port)

start() { taskset -c "$core" "$@" >"$run/${1##*/}.log" 2>&1 & pids+=($!); }
start build/bench/refup --http "$upstream_port"
sed -e "s|@PORT@|$nginx_port|; s|@UPSTREAM@|$upstream_port|; s|@RUN@|$run|" \
  test/bench/nginx.conf.in >"$run/nginx.conf"
start "$(command -v nginx || echo /usr/sbin/nginx)" -c "$run/nginx.conf" -p "$run"
nginx_pid=$!
cat >"$run/mcpx.yaml" <<YAML
listen: { http: "127.0.0.1:$mcpx_port" }
threads: 1
log: { level: warning }
state_dir: $run/state
servers:
  ref: { url: "http://127.0.0.1:$upstream_port/mcp" }
YAML
start "$mcpxd" --config "$run/mcpx.yaml"
mcpx_pid=$!

load() { taskset -c "$core" build/bench/mcpload "$@"; }
for port in "$nginx_port" "$mcpx_port"; do
  load --url "http://127.0.0.1:$port/mcp" --wait-ready 20000 --requests 100 >/dev/null
done

echo "workload            nginx us/call  mcpx us/call  ratio   (medians of $rounds rounds, one core)"
status=0
workload() {  # title protocol payload
  local title=$1 protocol=$2 payload=$3 round side port pid
  : >"$run/samples"
  for round in $(seq "$rounds"); do
    for side in nginx mcpx; do
      if [ $side = nginx ]; then port=$nginx_port pid=$nginx_pid; else port=$mcpx_port pid=$mcpx_pid; fi
      load --url "http://127.0.0.1:$port/mcp" --conns 16 --payload "$payload" --proto "$protocol" \
        --seconds "$seconds" --warmup 0.3 --cpu proxy="$pid" >"$run/sample.json"
      jq -e '.errors == 0' "$run/sample.json" >/dev/null ||
        { echo "bench: $side answered wrongly" >&2; cat "$run/sample.json" >&2; exit 1; }
      jq -r --arg s $side --arg r "$round" '[$r, $s, .proxy.cpu_us] | @tsv' "$run/sample.json" \
        >>"$run/samples"
    done
  done
  python3 - "$run/samples" "$title" $limit <<'PY' || status=1
import statistics
import sys

rounds = {}
for line in open(sys.argv[1]):
    number, side, cpu = line.split()
    rounds.setdefault(number, {})[side] = float(cpu)
nginx = statistics.median(r["nginx"] for r in rounds.values())
mcpx = statistics.median(r["mcpx"] for r in rounds.values())
ratio = statistics.median(r["mcpx"] / r["nginx"] for r in rounds.values())
print(f"{sys.argv[2]:<20}{nginx:>12.2f}{mcpx:>14.2f}{ratio:>8.2f}")
sys.exit(ratio > float(sys.argv[3]))
PY
}
workload "16 x 100 B" 2025-11-25 100
workload "16 x 100 B modern" 2026-07-28 100
workload "16 x 4 KB" 2025-11-25 4096
[ $status -eq 0 ] && echo "bench: mcpx is within $limit x nginx"
exit $status
