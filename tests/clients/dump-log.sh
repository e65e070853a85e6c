#!/usr/bin/env bash
# Kafka's own DumpLogSegments over every file that a broker leaves on disk: small segments, idempotent producers,
# several codecs, compaction; after a clean stop, and after a kill under load, a restart and a clean stop. It must find
# as many batches as `pillion log verify` does, pass every index, and complain of nothing. Three exceptions, of which it
# complains in Kafka's own files too: offsets missing in a compacted log, which is what compaction does; time index
# entries there for batches that compaction emptied ("log timestamp: -1"); and of every segment but a log's first, that
# "-1 is followed by" its first offset.
#
#   KAFKA_RUN="/opt/kafka/bin/kafka-run-class.sh" tests/clients/dump-log.sh [PILLION]
#
# KAFKA_RUN is a command that runs a class out of Kafka's jars; PILLION is the program, target/debug/pillion by default.
# KEEP=1 leaves the data directory in place and names it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pillion=${1:-${CARGO_TARGET_DIR:-$here/../../target}/debug/pillion}
: "${KAFKA_RUN:?a command that runs a class out of Kafka\'s jars, as /opt/kafka/bin/kafka-run-class.sh}"
[[ -x $pillion ]] || { echo "$pillion is not there: cargo build --package pillion, or name the program" >&2; exit 2; }

work=$(mktemp -d)
data=$work/data
broker=
address=127.0.0.1:0 # the first start finds a port, the later ones keep it
end() {
  [[ -z $broker ]] || kill -KILL "$broker" 2>/dev/null || true
  if [[ -n ${KEEP:-} ]]; then echo "left in $work"; else rm -rf "$work"; fi
}
trap end EXIT

fail() {
  echo "dump-log: $*" >&2
  exit 1
}

# Kafka's own tools refuse segment.bytes below 1 MiB, so the broker's settings make segments small.
start() {
  : >"$work/address"
  "$pillion" broker --data-dir "$data" --listen "$address" \
    --set log.segment.bytes=3000 --set log.index.interval.bytes=200 --set num.partitions=3 \
    --set log.cleaner.backoff.ms=100 --set log.cleaner.min.cleanable.ratio=0.01 \
    --set log.flush.offset.checkpoint.interval.ms=200 --set log.segment.delete.delay.ms=0 \
    >"$work/address" 2>>"$work/broker.log" &
  broker=$!
  wait_for "the broker to start" grep -q : "$work/address"
  address=$(head -n1 "$work/address")
}

stop() {
  kill -TERM "$broker"
  wait "$broker" || fail "the broker did not stop cleanly: $(tail -n 3 "$work/broker.log")"
  broker=
}

wait_for() {
  local what=$1 limit=$((SECONDS + 60))
  shift
  until "$@"; do
    ((SECONDS < limit)) || fail "waited in vain for $what"
    kill -0 "$broker" 2>/dev/null || fail "it ended, instead of $what: $(tail -n 3 "$work"/*.log)"
    sleep 0.1
  done
}

# produce RUN TOPIC CODEC: thirty records of ten keys, three batches a partition or so, by a producer of its own.
produce() {
  local number
  for number in {0..29}; do
    ((number % 10)) || sleep 0.01
    printf 'key-%d:%s record %02d of run %s %0100d\n' $((number % 10)) "$3" "$number" "$1" "$number"
  done | "$pillion" produce -b "$address" "$2" -K : -z "$3"
}

produce_runs() { # produce_runs FIRST LAST
  local run codecs=(none gzip snappy lz4 zstd)
  for ((run = $1; run <= $2; run++)); do
    produce "$run" rolled "${codecs[run % 5]}"
    produce "$run" compacted "${codecs[run % 5]}"
  done
}

is_compacted() { grep -q '^compacted ' "$data/cleaner-offset-checkpoint"; }

# files SUFFIX...: those of all partitions, with commas between them.
files() {
  local suffix
  for suffix in "$@"; do
    find "$data" -mindepth 2 -name "*.$suffix" -size +0 | sort
  done | paste -sd,
}

dump() { # dump OPTION... --files FILES: what DumpLogSegments prints
  # shellcheck disable=SC2086
  $KAFKA_RUN org.apache.kafka.tools.DumpLogSegments "$@" 2>&1
}

check() { # check WHEN
  local printed batches seen indexes complaints
  "$pillion" log verify --json "$data" >"$work/verify" || fail "$1, pillion log verify finds: $(cat "$work/verify")"
  batches=$(sed -n 's/.*"type":"summary".*/&/p' "$work/verify" | sed 's/.*"batches":\([0-9]*\).*/\1/')

  printed=$(dump --deep-iteration --files "$(files log)") || fail "$1, DumpLogSegments fails: $printed"
  # shellcheck disable=SC2016
  complaints=$(awk '/^Non-consecutive offsets in / { file = $0; next }
    / is followed by / && (/^ *-1 / || file ~ /\/(compacted|__pillion_catalogue)-[0-9]+\//) { next }
    / is followed by / { print file ":" $0; next }
    tolower($0) ~ /invalid bytes|isvalid: false|mismatch|out of order|exception|error/' <<<"$printed")
  [[ -z $complaints ]] || fail "$1, of the segments: $complaints"
  seen=$(grep -c '^baseOffset: .* isvalid: true' <<<"$printed")
  [[ $seen == "$batches" ]] || fail "$1, DumpLogSegments sees $seen batches, pillion log verify $batches"

  indexes=$(files index timeindex)
  printed=$(dump --index-sanity-check --files "$indexes") || fail "$1, the sanity check fails: $printed"
  seen=$(grep -c 'passed sanity check' <<<"$printed")
  [[ $seen == $(tr , '\n' <<<"$indexes" | wc -l) ]] || fail "$1, not every index passed the sanity check: $printed"

  printed=$(dump --verify-index-only --files "$indexes") || fail "$1, the indexes cannot be verified: $printed"
  # shellcheck disable=SC2016
  complaints=$(awk '/^Dumping |^$/ { next }
    /^Found timestamp mismatch in / { file = $0; next }
    file ~ /\/compacted-[0-9]+\// && / log timestamp: -1$/ { next }
    { print file ":" $0 }' <<<"$printed")
  [[ -z $complaints ]] || fail "$1, of the indexes: $complaints"

  printed=$(dump --files "$(files snapshot txnindex)") || fail "$1, of snapshots: $printed"
  complaints=$(grep -iE 'exception|error|corrupt' <<<"$printed" || true)
  [[ -z $complaints ]] || fail "$1, of snapshots: $complaints"
  echo "$1: $batches batches, $(tr , '\n' <<<"$indexes" | wc -l) indexes," \
    "$(grep -c '^producerId: ' <<<"$printed") producers; nothing to complain of"
}

start
"$pillion" topic create -b "$address" rolled >/dev/null
"$pillion" topic create -b "$address" compacted --config cleanup.policy=compact >/dev/null
produce_runs 1 25
wait_for "a compaction" is_compacted
stop
[[ $(find "$data" -path '*/rolled-*' -name '*.log' | wc -l) -gt 3 ]] || fail "no segment was rolled"
check "after a clean stop"

start
produce_runs 26 40 &
load=$!
sleep 1
kill -KILL "$broker"
wait "$broker" 2>/dev/null || true
start
wait "$load" || fail "records were not delivered through the broker's restart"
produce_runs 41 45
stop
check "after a kill under load, a restart and a clean stop"
