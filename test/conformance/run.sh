#!/usr/bin/env bash
# The official conformance suite against mcpxd with a server of our own behind it (test/fixtures/
# everything). The last line is "N passed, N failed, N skipped".
#
# Usage: test/conformance/run.sh [--leg NAME]... [--scenario NAME] [--verbose]
#   --leg       2025-11-25, 2026-07-28, 2025-06-18, 2025-03-26, all, each with -legacy, -http or -modern:
#               the fixture behind; the four revisions with -merged: through /mcp, with an
#               empty prefix; skills, skills-merged; client-2025-11-25, client-2026-07-28,
#               client-2025-06-18: mcpxd as the client of the suite's own servers; default: all of them
#   --scenario  only this one
#   --verbose   say of every check that did not pass what it wanted
# Binaries: $MCPX_BUILD_DIR/bin (default build/debug). Results and logs: build/conformance.
set -euo pipefail
cd "$(dirname "$0")"

install() {
  local try
  cmp -s package-lock.json node_modules/.installed-lock && return
  for try in 1 2 3; do
    if npm ci --ignore-scripts --no-audit --no-fund; then
      cp package-lock.json node_modules/.installed-lock
      return
    fi
    echo "npm ci failed (try $try)"
  done
  return 1
}
install

# The suite needs node 22, which the lock file brings.
for bin in "$PWD"/node_modules/node-linux-*/bin; do
  if [ -x "$bin/node" ] && "$bin/node" --version >/dev/null 2>&1; then PATH=$bin:$PATH; fi
done
export PATH
exec node run.mjs "$@"
