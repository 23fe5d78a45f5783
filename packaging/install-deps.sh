#!/usr/bin/env bash
# Installs what mcpx needs on Debian 12, and only what is missing.
#
# Usage: packaging/install-deps.sh [--build] [--test] [--bench] [--check]
#   --build   compilers and libraries (the default)
#   --test    what test/run.sh needs besides: clang's runtime, clang-format, shellcheck, node, npm
#   --bench   what test/bench needs besides: nginx
#   --check   installs nothing; exit code 1 when something is missing
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/common.sh

build=(g++ cmake ninja-build ccache git ca-certificates python3 curl jq
  libboost1.81-dev libboost-json1.81-dev libboost-url1.81-dev libfmt-dev
  libspdlog-dev libyaml-cpp-dev libssl-dev zlib1g-dev libsqlite3-dev libmimalloc-dev)
tests=(clang libclang-rt-14-dev clang-format catch2 shellcheck procps)
bench=(nginx-light)

wanted=()
check=no
[ $# -gt 0 ] || set -- --build
for argument in "$@"; do
  case $argument in
    --build) wanted+=("${build[@]}") ;;
    --test)
      wanted+=("${build[@]}" "${tests[@]}")
      # Another distribution of node serves as well; Debian's own comes in two packages.
      command -v node >/dev/null || wanted+=(nodejs)
      command -v npm >/dev/null || wanted+=(npm)
      ;;
    --bench) wanted+=("${bench[@]}") ;;
    --check) check=yes ;;
    -h | --help) sed -n '2,9p' "$0" | cut -c3-; exit 0 ;;
    *) fail "unknown option $argument; see packaging/install-deps.sh --help" ;;
  esac
done

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  case $state in ii*) ;; *) case " ${missing[*]-} " in *" $package "*) ;; *) missing+=("$package") ;; esac ;; esac
done
if [ ${#missing[@]} -eq 0 ]; then
  note "everything needed is installed"
  exit 0
fi
if [ "$check" = yes ]; then
  echo "missing: ${missing[*]}"
  exit 1
fi

command -v apt-get >/dev/null || fail "this script knows Debian's apt-get only; install: ${missing[*]}"
root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "run this as root, or install sudo; missing: ${missing[*]}"
  root=(sudo)
fi
say "installing ${#missing[@]} packages: ${missing[*]}"
log=$(mktemp "${TMPDIR:-/tmp}/mcpx-install.XXXXXX")
trap 'rm -f "$log"' EXIT
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 "$@"; }
with_progress "package lists" "$log" apt update
with_progress "packages" "$log" apt install -y --no-install-recommends "${missing[@]}"
note "installed in $SECONDS s"
