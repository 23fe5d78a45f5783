#!/usr/bin/env bash
# The whole test run. The last line is "N passed, N failed" (and "N skipped" if any); the exit code is
# non-zero when something failed or nothing ran.
#
# Usage: test/run.sh [--all | --quick | --only STAGE[,STAGE...]] [--no-install] [--write-matrix]
#   (default)       build with g++, unit, lint, end to end, conformance, 10 s of fuzzing per target
#   --quick         unit and lint only
#   --all           besides: clang, address+undefined and thread sanitizers, longer fuzzing, soak, random
#                   faults, bench
#   --only          of: unit lint e2e conformance fuzz clang asan tsan soak faults bench
#   --no-install    do not install packages
#   --write-matrix  write docs/conformance-matrix.md too
# Logs and results: build/test-logs. docs/testing.md explains the stages.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. packaging/common.sh

stages=(unit lint e2e conformance fuzz)
install=yes
write_matrix=no
all=no
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=yes; stages=(unit lint e2e conformance fuzz clang asan tsan soak faults bench) ;;
    --quick) stages=(unit lint) ;;
    --only) [ $# -ge 2 ] || fail "--only needs a stage"; IFS=, read -ra stages <<<"$2"; shift ;;
    --only=*) IFS=, read -ra stages <<<"${1#*=}" ;;
    --no-install) install=no ;;
    --write-matrix) write_matrix=yes ;;
    -h | --help) sed -n '2,15p' "$0" | cut -c3-; exit 0 ;;
    *) fail "unknown option $1; see test/run.sh --help" ;;
  esac
  shift
done
for stage in "${stages[@]}"; do
  case $stage in unit | lint | e2e | conformance | fuzz | clang | asan | tsan | soak | faults | bench) ;;
    *) fail "unknown stage $stage; see test/run.sh --help" ;;
  esac
done
wants() { case " ${stages[*]} " in *" $1 "*) ;; *) return 1 ;; esac; }

logs=$PWD/build/test-logs
results=$logs/results.tsv
rm -rf "$logs"
mkdir -p "$logs/unit" "$logs/e2e"
: >"$results"
fuzz_seconds=10
[ "$all" = no ] || fuzz_seconds=60
jobs=$(nproc)
# The specification, when it is there: its requirements for the matrix, and its schemas in place of the
# copies in test/schemas.
if [ -d "${MCPX_SPEC_DIR:-../shared/spec}" ]; then
  MCPX_SPEC_DIR=$(realpath "${MCPX_SPEC_DIR:-../shared/spec}")
  export MCPX_SPEC_DIR
fi

# record STAGE NAME PASSED FAILED SKIPPED SECONDS: one line of the table.
record() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" >>"$results"; }
# step STAGE NAME COMMAND...: passes or fails as the command does; exit code 77 is "skipped".
step() {
  local stage=$1 name=$2 start=$SECONDS log status=0
  shift 2
  log=$logs/$stage-${name//[^a-zA-Z0-9_.-]/-}.log
  "$@" >"$log" 2>&1 || status=$?
  case $status in
    0) record "$stage" "$name" 1 0 0 "$(seconds "$start")" ;;
    77) record "$stage" "$name" 0 0 1 "$(seconds "$start")"; note "$stage $name: skipped: $(tail -n 1 "$log")" ;;
    *)
      record "$stage" "$name" 0 1 0 "$(seconds "$start")"
      printf '%sfailed:%s %s %s (%s)\n' "$RED" "$PLAIN" "$stage" "$name" "$log" >&2
      tail -n 40 "$log" >&2
      ;;
  esac
  return "$status"
}

# --- What the tests need

needs() {
  [ "$install" = yes ] || return 0
  local sets=(--test)
  ! wants bench || sets+=(--bench)
  packaging/install-deps.sh "${sets[@]}" || fail "cannot install what the tests need"
}

# Software nobody here wrote, from the lock file; kept while the lock stays the same.
npm_packages() {
  local stamp=test/npm/node_modules/.installed-lock try
  if cmp -s test/npm/package-lock.json "$stamp"; then return 0; fi
  for try in 1 2 3; do
    if (cd test/npm && npm ci --ignore-scripts --no-audit --no-fund); then
      cp test/npm/package-lock.json "$stamp"
      return 0
    fi
    echo "npm ci failed (try $try)"
  done
  return 1
}
# The node that the lock file brings (the Inspector needs 22), or the machine's.
use_node() {
  local bin
  for bin in "$PWD"/test/npm/node_modules/node-linux-*/bin; do
    if [ -x "$bin/node" ] && "$bin/node" --version >/dev/null 2>&1; then PATH=$bin:$PATH; fi
  done
  export PATH
}

# --- Building. Each preset is built at most once; a second request waits for the first.

# Of the fuzz preset only the fuzz targets, of the release what is run of it, with a profile; of the
# others everything.
configure_and_build() {
  local targets=()
  if [ "$1" = release ]; then
    packaging/optimise.sh mcpxd mcpx mcpx-supervise mcpx-demo-server
    return
  fi
  cmake --preset "$1" || return
  if [ "$1" = fuzz ]; then
    mapfile -t targets < <(ninja -C build/fuzz -t targets all | sed -n 's/^\(fuzz_[a-z0-9_]*\): phony$/\1/p' | sort -u)
    [ ${#targets[@]} -gt 0 ] || return 1
  fi
  ninja -C "build/$1" -j "$jobs" -k 20 "${targets[@]}"
}
# built PRESET: in the foreground, with progress.
built() {
  local preset=$1 start=$SECONDS
  if [ -e "$logs/$preset.pid" ]; then
    with_progress "build $preset" "$logs/wait-$preset.log" wait_for "$preset"
    return
  fi
  say "building $preset"
  if PROGRESS_TAIL=80 with_progress "build $preset" "$logs/build-$preset.log" configure_and_build "$preset"; then
    record build "$preset" 1 0 0 "$(seconds "$start")"
    echo 0 >"$logs/$preset.built"
  else
    record build "$preset" 0 1 0 "$(seconds "$start")"
    echo 1 >"$logs/$preset.built"
    return 1
  fi
}
wait_for() {
  while [ ! -e "$logs/$1.built" ]; do
    tail -n 1 "$logs/build-$1.log" 2>/dev/null
    sleep 1
  done
  return "$(cat "$logs/$1.built")"
}
# Builds the presets one after the other beside the tests, giving way to them.
build_beside() {
  local preset start
  for preset in "$@"; do : >"$logs/$preset.pid"; done
  (
    for preset in "$@"; do
      start=$SECONDS
      if nice -n 15 bash -c "$(declare -f configure_and_build); jobs=$jobs; configure_and_build $preset" \
        >"$logs/build-$preset.log" 2>&1; then
        record build "$preset" 1 0 0 "$(seconds "$start")"
        echo 0 >"$logs/$preset.built"
      else
        record build "$preset" 0 1 0 "$(seconds "$start")"
        tail -n 60 "$logs/build-$preset.log" >&2
        echo 1 >"$logs/$preset.built"
      fi
    done
  ) &
  builder=$!
}
ready() { [ "$(cat "$logs/$1.built" 2>/dev/null)" = 0 ] || built "$1"; }

# --- The stages

lint() {
  local name
  step lint selftest python3 test/lint/selftest.py
  step lint tools-selftest python3 test/tools/selftest.py
  for name in include_direction coroutine_shapes banned sizes headers format shell; do
    step lint "$name" python3 "test/lint/$name.py"
  done
}

# unit LABEL BUILD: every Catch2 executable; test cases are counted from its report.
unit() {
  local label=$1 build=$2 binary name xml counts status start
  say "unit tests ($label)"
  while IFS= read -r binary; do
    name=$(basename "$binary")
    xml=$logs/unit/$label-$name.xml
    start=$SECONDS
    status=0
    timeout 600 "$binary" -r xml -o "$xml" >"$logs/unit/$label-$name.log" 2>&1 || status=$?
    counts=$(python3 test/tools/results.py count "$xml" 2>/dev/null || echo "0 1 0")
    read -r passed failed skipped <<<"$counts"
    # A report without a failure from a process that did not end well is a failure of its own.
    if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    record "unit-$label" "$name" "$passed" "$failed" "$skipped" "$(seconds "$start")"
    if [ "$failed" -ne 0 ]; then
      printf '%sfailed:%s %s (%s), exit code %s\n' "$RED" "$PLAIN" "$name" "$label" "$status" >&2
      tail -n 30 "$logs/unit/$label-$name.log" >&2
      "$binary" '~[.]' 2>&1 </dev/null | tail -n 40 >&2
    fi
  done < <(find "$build/test/unit" -type f -name 'test_*' -perm -u+x 2>/dev/null | sort)
}

# e2e LABEL BUILD SLOW: node's runner over test/e2e against the binaries of BUILD.
e2e() {
  local label=$1 build=$2 slow=$3 start=$SECONDS status=0 tap=$logs/e2e-$1.tap counts
  say "end to end ($label)"
  step e2e npm-packages npm_packages || return
  use_node
  MCPX_BUILD_DIR=$PWD/$build MCPX_SLOW=$slow MCPX_LOG_DIR=$logs/e2e/$label \
    with_progress "end to end $label" "$logs/e2e-$label.log" \
    node --test --test-concurrency=2 --test-timeout=$((300000 * slow)) \
    --test-reporter=tap --test-reporter-destination="$tap" \
    --test-reporter=spec --test-reporter-destination=stdout test/e2e/*.test.mjs || status=$?
  counts=$(python3 test/tools/results.py count "$tap" 2>/dev/null || echo "0 1 0")
  read -r passed failed skipped <<<"$counts"
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  record "e2e-$label" "test/e2e" "$passed" "$failed" "$skipped" "$(seconds "$start")"
}

sanitizer_environment() {
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
}

fuzz() {
  local target name start status passed=0
  ready fuzz || return
  say "fuzzing, $fuzz_seconds s per target"
  for target in build/fuzz/test/fuzz/fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    name=$(basename "$target")
    start=$SECONDS
    status=0
    one_fuzz "$target" "$name" >"$logs/fuzz-$name.log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
      record fuzz "$name" 1 0 0 "$(seconds "$start")"
    else
      record fuzz "$name" 0 1 0 "$(seconds "$start")"
      tail -n 40 "$logs/fuzz-$name.log" >&2
    fi
    passed=$((passed + 1))
  done
  [ "$passed" -gt 0 ] || record fuzz "no targets" 0 1 0 0
}
one_fuzz() {
  local work=$PWD/build/fuzz/fuzz-work/$2 seeds arguments=()
  mkdir -p "$work/corpus"
  [ ! -f "test/fuzz/$2.dict" ] || arguments+=("-dict=test/fuzz/$2.dict")
  for seeds in "test/fuzz/corpus/$2" "test/fuzz/corpus/${2#fuzz_}"; do
    [ ! -d "$seeds" ] || { arguments+=("$work/corpus" "$seeds"); break; }
  done
  ASAN_OPTIONS=detect_leaks=1 "$1" -max_total_time="$fuzz_seconds" -max_len=4096 -timeout=10 \
    -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$work/" "${arguments[@]}"
}

# Scenarios count, not the suite: its last line is "N passed, N failed, N skipped".
conformance() {
  local start=$SECONDS log=$logs/conformance.log status=0 passed=0 failed=0 skipped=0
  say "official conformance suite"
  MCPX_BUILD_DIR=$PWD/build/debug with_progress "conformance suite" "$log" \
    test/conformance/run.sh || status=$?
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[4]:-0}
  fi
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
  record conformance suite "$passed" "$failed" "$skipped" "$(seconds "$start")"
}

# Long-running behaviour of the optimised binaries.
soak() {
  ready release || return
  step e2e npm-packages npm_packages || return
  use_node
  say "soak"
  MCPX_RESTARTS=1000 MCPX_BUILD_DIR=$PWD/build/release MCPX_LOG_DIR=$logs/e2e/soak \
    step soak "C08: 1,000 restarts" node --test --test-name-pattern='^C08' test/e2e/children.test.mjs
  [ ! -x test/soak/run.sh ] || MCPX_BUILD_DIR=$PWD/build/release step soak run.sh test/soak/run.sh
}

# Rounds of the fault harness from a seed that nobody chose; its first and last lines tell it.
faults() {
  step e2e npm-packages npm_packages || return
  use_node
  say "faults"
  MCPX_BUILD_DIR=$PWD/build/debug MCPX_LOG_DIR=$logs/e2e/faults step faults "random seed" \
    node test/e2e/faults/run.mjs --seconds 15 --rounds 3
}

bench() {
  if [ ! -x test/bench/run.sh ]; then
    note "bench: test/bench/run.sh is not here yet"
    return
  fi
  ready release || return
  say "bench"
  MCPX_BUILD_DIR=$PWD/build/release step bench run.sh test/bench/run.sh
  tail -n 20 "$logs/bench-run.sh.log"
}

matrix() {
  local spec=${MCPX_SPEC_DIR:-../shared/spec} files=() file out=build/conformance-matrix.md
  for file in "$logs"/unit/debug-*.xml "$logs"/e2e-debug.tap; do
    [ ! -f "$file" ] || files+=("$file")
  done
  [ ${#files[@]} -gt 0 ] || return 0
  step matrix requirements python3 test/tools/conformance_matrix.py \
    --requirements "$spec/requirements.tsv" --out "$out" "${files[@]}" || return
  [ "$write_matrix" = no ] || cp "$out" docs/conformance-matrix.md
}

summary() {
  printf '\n%-14s %8s %8s %8s %8s\n' stage passed failed skipped seconds
  awk -F'\t' '{ if (!($1 in p)) order[++n] = $1; p[$1] += $3; f[$1] += $4; s[$1] += $5; t[$1] += $6 }
    END { for (i = 1; i <= n; i++) { k = order[i];
      printf "%-14s %8d %8d %8d %8d\n", k, p[k], f[k], s[k], t[k] } }' "$results"
  if awk -F'\t' '$4 > 0 { found = 1 } END { exit !found }' "$results"; then
    echo
    awk -F'\t' '$4 > 0 { printf "failed: %s %s (%d)\n", $1, $2, $4 }' "$results"
    grep -hE '^ *not ok ' "$logs"/e2e-*.tap 2>/dev/null | sed 's/^ */  /' | sort -u | head -n 60
  fi
  echo "total: $SECONDS s; logs: $logs"
  awk -F'\t' '{ p += $3; f += $4; s += $5 }
    END { printf "%d passed, %d failed", p, f; if (s) printf ", %d skipped", s; print ""
          exit (f > 0 || p == 0) }' "$results"
}

# --- The run

needs
background=()
if wants lint; then
  lint >"$logs/lint.out" 2>&1 &
  background+=($!)
fi
if wants e2e || wants soak || wants faults; then
  npm_packages >"$logs/npm.log" 2>&1 &
  npm=$!
fi
if wants unit || wants e2e || wants conformance || wants faults; then built debug; fi
[ -z "${npm:-}" ] || wait "$npm"
if [ ${#background[@]} -gt 0 ]; then
  wait "${background[@]}"
  cat "$logs/lint.out" >&2
fi
beside=()
! wants fuzz || beside+=(fuzz)
! wants asan || beside+=(asan)
! wants tsan || beside+=(tsan)
! wants clang || beside+=(clang)
if wants soak || wants bench; then beside+=(release); fi
if [ "$(cat "$logs/debug.built" 2>/dev/null || echo 0)" = 0 ]; then
  ! wants unit || unit debug build/debug
  [ ${#beside[@]} -eq 0 ] || build_beside "${beside[@]}"
  # Builds run beside these: timers get more room.
  ! wants e2e || e2e debug build/debug "$([ ${#beside[@]} -eq 0 ] && echo 1 || echo 2)"
  ! wants conformance || conformance
elif [ ${#beside[@]} -gt 0 ]; then
  build_beside "${beside[@]}"
fi
! wants fuzz || fuzz
if wants clang && ready clang; then unit clang build/clang; fi
sanitizer_environment
for preset in asan tsan; do
  wants "$preset" || continue
  ready "$preset" || continue
  unit "$preset" "build/$preset"
  e2e "$preset" "build/$preset" 4
done
[ -z "${builder:-}" ] || wait "$builder"
! wants soak || soak
! wants faults || ! ready debug || faults
! wants bench || bench
matrix
summary
