#!/usr/bin/env bash
# Builds the fuzz targets and runs each for FUZZ_SECONDS (60), as many at a time as there are processors. `make fuzz`.
#
#   FUZZ_TARGETS="frames batches"   only these; otherwise all
#   FUZZ_JOBS=2                     so many at a time
#
# What a target has learnt stays in BUILD/fuzz/corpus/TARGET; an input that broke it in BUILD/fuzz/found/TARGET, from
# where `FUZZ_TARGET=TARGET BUILD/fuzz/…/fuzz FILE` tells it again.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${CARGO_TARGET_DIR:-$root/target}/fuzz
mkdir -p "$build"
build=$(cd "$build" && pwd)

command -v c++ >/dev/null || { echo "libFuzzer is built from its C++ sources: install a C++ compiler (apt-get install g++)" >&2; exit 1; }

host=$(rustc -vV | sed -n 's/^host: //p')
# Coverage as libFuzzer reads it. These are options of a stable compiler; `--target` keeps build scripts free of them.
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares ${RUSTFLAGS:-}"
CARGO_TARGET_DIR="$build" ${CARGO:-cargo} build --manifest-path "$root/fuzz/Cargo.toml" --release --target "$host"
fuzz=$build/$host/release/fuzz

all=$(FUZZ_SEEDS="$build/seeds" "$fuzz" 2>/dev/null)
targets=${FUZZ_TARGETS:-$all}
seconds=${FUZZ_SECONDS:-60}
jobs=${FUZZ_JOBS:-$(getconf _NPROCESSORS_ONLN)}

# One target: its last line, or all it said when it broke.
one() {
  local target=$1
  mkdir -p "$build/corpus/$target" "$build/found/$target"
  if FUZZ_TARGET=$target "$fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$build/found/$target/" "$build/corpus/$target" "$build/seeds/$target" \
    >"$build/found/$target/log" 2>&1; then
    printf '%-40s %s inputs, %s coverage points\n' "$target" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/found/$target/log")" \
      "$(grep -o 'cov: [0-9]*' "$build/found/$target/log" | tail -1 | cut -d' ' -f2)"
  else
    printf '%-40s BROKEN\n' "$target"
    tail -40 "$build/found/$target/log"
    return 1
  fi
}
export -f one
export build fuzz seconds

echo "$(wc -w <<<"$targets") targets, $seconds seconds each, $jobs at a time"
# xargs ends with 123 when any of them broke.
xargs -P "$jobs" -I{} bash -c 'one {}' <<<"$(tr -s ' ' '\n' <<<"$targets")"
