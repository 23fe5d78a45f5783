#!/bin/sh
# Runs every libFuzzer target of a build for a while: run.sh BUILD_DIR [SECONDS_EACH].
# The corpus of the tree is only read; new inputs and findings stay in BUILD_DIR/fuzz-work.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: run.sh BUILD_DIR [SECONDS_EACH]}
seconds=${2:-30}
failed=0
for target in "$build"/test/fuzz/fuzz_*; do
  [ -f "$target" ] && [ -x "$target" ] || continue
  name=$(basename "$target")
  work=$build/fuzz-work/$name
  mkdir -p "$work/corpus"
  dict=
  [ -f "$here/$name.dict" ] && dict=-dict=$here/$name.dict
  echo "fuzz: $name for $seconds s"
  if "$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
      -print_final_stats=1 ${dict:+"$dict"} -artifact_prefix="$work/" "$work/corpus" \
      "$here/corpus/$name" >"$work/log" 2>&1; then
    grep -E 'number_of_executed_units' "$work/log" || true
  else
    failed=1
    tail -n 40 "$work/log"
    echo "fuzz: $name failed; the input and the log are in $work"
  fi
done
exit $failed
