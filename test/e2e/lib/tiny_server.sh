#!/bin/sh
# The cheapest legacy stdio server: no runtime to start, so a thousand starts take seconds.
# mcpx's own ids are numbers or strings without commas; they are echoed as they came. What it was sent
# is in $TMPDIR/tiny.PID.lines.
exec 3>>"${TMPDIR:-/tmp}/tiny.$$.lines"
while IFS= read -r line; do
  printf '%s\n' "$line" >&3
  id=${line#*\"id\":}
  case $id in "$line") continue ;; esac
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      r='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      r='"result":{"tools":[{"name":"ping","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      r='"result":{"content":[{"type":"text","text":"pong"}]}' ;;
    *'"method":"ping"'*)
      r='"result":{}' ;;
    *)
      r='"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done
