# shellcheck shell=bash
# Shared by packaging/ and test/run.sh: saying what happens, and showing that long steps live.
# Sourced, not run.

if [ -t 1 ]; then BOLD=$'\e[1m' RED=$'\e[31m' DIM=$'\e[2m' PLAIN=$'\e[0m'; else BOLD='' RED='' DIM='' PLAIN=''; fi

say() { printf '%s==>%s %s\n' "$BOLD" "$PLAIN" "$*"; }
note() { printf '    %s%s%s\n' "$DIM" "$*" "$PLAIN"; }
fail() { printf '%serror:%s %s\n' "$RED" "$PLAIN" "$*" >&2; exit 1; }

# seconds START: whole seconds since START (of $SECONDS).
seconds() { echo $((SECONDS - $1)); }

# with_progress WHAT LOG COMMAND...: runs the command with its output in LOG; every 10 seconds one
# line says how far it is (ninja's [n/m], or the last line). On failure the end of LOG is shown.
with_progress() {
  local what=$1 log=$2 start=$SECONDS pid shown='' line status=0 waited
  shift 2
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    for ((waited = 0; waited < 50; waited++)); do
      sleep 0.2
      kill -0 "$pid" 2>/dev/null || break 2
    done
    # Without a match grep fails, which under pipefail must not end the script.
    line=$(tr '\r' '\n' <"$log" | { grep -aoE '^\[[0-9]+/[0-9]+\]' || true; } | tail -n 1)
    [ -n "$line" ] || line=$(tail -n 1 "$log" | cut -c1-80)
    [ "$line" = "$shown" ] || note "$what: $line ($(seconds "$start") s)"
    shown=$line
  done
  wait "$pid" || status=$?
  if [ "$status" -ne 0 ]; then
    printf '%s%s failed%s after %s s; the end of %s:\n' "$RED" "$what" "$PLAIN" "$(seconds "$start")" "$log" >&2
    tail -n "${PROGRESS_TAIL:-40}" "$log" >&2
  fi
  return "$status"
}

# One compiler cache for every checkout and build directory: paths below the checkout do not count.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
