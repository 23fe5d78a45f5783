#!/usr/bin/env bash
# From a bare Debian 12 to a running mcpx: installs what is needed, builds, starts the daemon with two
# demo servers, makes one real tool call, and prints what to paste into an IDE.
#
# Usage: packaging/quickstart.sh [options]
#   --port N       listen on 127.0.0.1:N (default 7332)
#   --foreground   keep the daemon attached; Ctrl-C ends it
#   --stop         end the daemon that an earlier run left
#   --no-install   do not install packages
#   --help         print this
# The daemon's pid and log are under ${XDG_STATE_HOME:-~/.local/state}/mcpx.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/common.sh

port=7332
mode=background
install=yes
while [ $# -gt 0 ]; do
  case $1 in
    --port) [ $# -ge 2 ] || fail "--port needs a number"; port=$2; shift ;;
    --port=*) port=${1#*=} ;;
    --foreground) mode=foreground ;;
    --stop) mode=stop ;;
    --no-install) install=no ;;
    -h | --help) sed -n '2,12p' "$0" | cut -c3-; exit 0 ;;
    *) fail "unknown option $1; see packaging/quickstart.sh --help" ;;
  esac
  shift
done
case $port in '' | *[!0-9]*) fail "--port needs a number, not '$port'" ;; esac
if [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then fail "--port $port is no TCP port"; fi

root=$PWD
state=${XDG_STATE_HOME:-$HOME/.local/state}/mcpx
pid_file=$state/quickstart.pid
log=$state/quickstart.log
config=$state/quickstart.yaml
build=build/release
url=http://127.0.0.1:$port
daemon=$root/$build/bin/mcpxd
cli=$root/$build/bin/mcpx

# The pid of our daemon, if it runs. The file holds "pid port start-time", so that a number that came
# round again is not taken for ours.
started_at() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
running() {
  local pid was
  [ -r "$pid_file" ] && read -r pid running_port was <"$pid_file" || return 1
  [ -n "$was" ] && [ "$(started_at "$pid")" = "$was" ] || return 1
  echo "$pid $running_port"
}

stop() {
  local found pid
  if ! found=$(running); then
    rm -f "$pid_file"
    echo "mcpx is not running"
    return
  fi
  pid=${found% *}
  say "stopping mcpxd (pid $pid)"
  kill "$pid"
  for ((i = 0; i < 150; i++)); do
    running >/dev/null || break
    sleep 0.1
  done
  if running >/dev/null; then
    note "it did not end within 15 s: killing it"
    kill -9 "$pid"
  fi
  rm -f "$pid_file"
  echo "stopped"
}

answers() { curl -fsS -m 2 -o /dev/null "$url/v1/health" 2>/dev/null; }

# Until every server has settled, bounded.
wait_ready() {
  local i status=''
  for ((i = 0; i < 300; i++)); do
    if ! running >/dev/null; then
      tail -n 30 "$log" >&2
      fail "mcpxd ended while starting; its log is $log"
    fi
    status=$(curl -fsS -m 2 "$url/v1/status" 2>/dev/null || true)
    if [ -n "$status" ] && curl -fsS -m 2 "$url/v1/servers" 2>/dev/null |
      jq -e '(if type == "array" then . else .servers end) | length > 0 and all(.state == "ready")' >/dev/null; then
      return 0
    fi
    [ $((i % 50)) -ne 49 ] || note "waiting for the servers ($((i / 10 + 1)) s)"
    sleep 0.1
  done
  tail -n 30 "$log" >&2
  fail "not ready within 30 s; /v1/status says: ${status:-nothing}"
}

show() {
  say "mcpx status"
  "$cli" --url "$url" status
  say "mcpx tools"
  "$cli" --url "$url" tools
}

# One tools/call of the modern revision: no handshake, everything in the request.
call() {
  local tool=$1 arguments=$2 body
  body=$(jq -cn --arg name "$tool" --argjson arguments "$arguments" '{jsonrpc: "2.0", id: 1,
    method: "tools/call", params: {name: $name, arguments: $arguments, _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": {name: "quickstart", version: "1"},
      "io.modelcontextprotocol/clientCapabilities": {}}}}')
  say "a tool call through $url/mcp"
  cat <<EOF
    POST /mcp
    MCP-Protocol-Version: 2026-07-28
    Mcp-Method: tools/call
    Mcp-Name: $tool
    $body
EOF
  printf '%sanswer:%s ' "$BOLD" "$PLAIN"
  curl -fsS -m 30 "$url/mcp" -H 'Content-Type: application/json' \
    -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
    -H 'Mcp-Method: tools/call' -H "Mcp-Name: $tool" --data-binary "$body" |
    sed 's/^data: *//' | jq -c 'select(.result or .error)'
}

paste() {
  say "paste one of these into your client's configuration"
  jq -n --arg url "$url/mcp" '{mcpServers: {mcpx: {url: $url}}}'
  echo "or, for a client that starts its servers over stdio:"
  jq -n --arg cli "$cli" --arg url "$url" '{mcpServers: {mcpx: {command: $cli, args: ["connect", "--url", $url]}}}'
}

tell() {
  show
  tool=$(curl -fsS "$url/v1/tools" | jq -r '[(if type == "array" then . else .tools end)[].name
    | select(endswith("echo"))][0] // empty')
  [ -n "$tool" ] || fail "the demo servers list no tool whose name ends in echo"
  call "$tool" '{"text":"hello from mcpx"}'
  paste
}

if [ "$mode" = stop ]; then
  stop
  exit 0
fi
if found=$(running); then
  port=${found#* }
  url=http://127.0.0.1:$port
  say "mcpxd already runs (pid ${found% *}, port $port)"
  wait_ready
  tell
  note "log: $log; packaging/quickstart.sh --stop ends it"
  exit 0
fi

if [ "$install" = yes ]; then
  say "what is needed (1 of 3)"
  packaging/install-deps.sh --build
fi
say "building with preset release (2 of 3); the first time takes some minutes"
mkdir -p "$state"
chmod 700 "$state"
with_progress configuring "$state/build.log" cmake --preset release
with_progress build "$state/build.log" cmake --build "$build" --target mcpxd mcpx mcpx-supervise mcpx-demo-server
demo=$(find "$root/$build" -type f -name mcpx-demo-server -perm -u+x | head -n 1)
[ -n "$demo" ] || fail "the build made no mcpx-demo-server"

if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
  fail "port $port is taken by another program (ss -ltnp 'sport = :$port' names it); choose one with --port N"
fi

say "starting mcpxd on port $port (3 of 3)"
{ cat configs/quickstart.yaml; printf '\nlisten:\n  http: 127.0.0.1:%s\n' "$port"; } >"$config"
export MCPX_DEMO_SERVER=$demo
if [ "$mode" = foreground ]; then
  : >"$log"
  "$daemon" --config "$config" > >(tee "$log") 2>&1 &
else
  setsid "$daemon" --config "$config" >"$log" 2>&1 </dev/null &
fi
pid=$!
echo "$pid $port $(started_at "$pid")" >"$pid_file"
wait_ready
tell
if [ "$mode" = foreground ]; then
  note "log: $log; Ctrl-C ends the daemon"
  trap 'kill "$pid" 2>/dev/null || true' INT TERM
  status=0
  wait "$pid" || status=$?
  [ "$status" -lt 128 ] || { status=0; wait "$pid" || status=$?; }
  rm -f "$pid_file"
  exit "$status"
fi
note "mcpxd runs on (pid $pid, log $log); packaging/quickstart.sh --stop ends it"
