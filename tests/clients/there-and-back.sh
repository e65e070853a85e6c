#!/usr/bin/env bash
# A data directory's way from Apache Kafka to pillion and back, as docs/log.md tells it. Kafka writes topics and a
# group's offsets; pillion takes the directory over, is killed, recovers and goes on; Kafka starts on it again, and takes
# in a topic that was made meanwhile. Every record must be there each time, and what Kafka acknowledges then must be in
# its log.
#
#   KAFKA_RUN="/opt/kafka/bin/kafka-run-class.sh" tests/clients/there-and-back.sh [PILLION]
#
# KAFKA_RUN is a command that runs a class out of Kafka's jars; PILLION is the program, target/debug/pillion by default.
# Needs python3, for free ports. KEEP=1 leaves everything in place and names it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pillion=${1:-${CARGO_TARGET_DIR:-$here/../../target}/debug/pillion}
: "${KAFKA_RUN:?a command that runs a class out of Kafka\'s jars, as /opt/kafka/bin/kafka-run-class.sh}"
[[ -x $pillion ]] || { echo "$pillion is not there: cargo build --package pillion, or name the program" >&2; exit 2; }

work=$(mktemp -d)
data=$work/data
running=
end() {
  [[ -z $running ]] || kill -KILL "$running" 2>/dev/null || true
  if [[ -n ${KEEP:-} ]]; then echo "left in $work"; else rm -rf "$work"; fi
}
trap end EXIT

fail() {
  echo "there-and-back: $*" >&2
  exit 1
}

wait_for() {
  local what=$1 limit=$((SECONDS + 90))
  shift
  until "$@"; do
    ((SECONDS < limit)) || fail "waited in vain for $what"
    kill -0 "$running" 2>/dev/null || fail "it ended, instead of $what: $(tail -n 3 "$work"/*.log)"
    sleep 0.2
  done
}

kafka() { # kafka CLASS ARGUMENT...
  # shellcheck disable=SC2086
  $KAFKA_RUN "$@"
}

is_up() { timeout 5 "$pillion" topic list -b "$address" >/dev/null 2>&1; }

start_kafka() {
  address=127.0.0.1:${ports[0]}
  # shellcheck disable=SC2086
  $KAFKA_RUN kafka.Kafka "$work/server.properties" >>"$work/kafka.log" 2>&1 &
  running=$!
  wait_for "Kafka to start" is_up
}

start_pillion() {
  : >"$work/address"
  "$pillion" broker --data-dir "$data" --listen 127.0.0.1:0 >"$work/address" 2>>"$work/pillion.log" &
  running=$!
  wait_for "pillion to start" grep -q : "$work/address"
  address=$(head -n1 "$work/address")
}

stop() { # stop CODE: asks for a clean end
  local code=0
  kill -TERM "$running"
  wait "$running" || code=$?
  running=
  [[ $code == "$1" ]] || fail "it did not stop cleanly, but with $code: $(tail -n 3 "$work"/*.log)"
}

produce() { # produce TOPIC CODEC COUNT WORDS...
  local number
  for ((number = 1; number <= $3; number++)); do echo "key-$((number % 20)):${*:4} $number"; done |
    "$pillion" produce -b "$address" "$1" -K : -z "$2"
}

records() { # records TOPIC: all of them, in an order of their own
  "$pillion" consume -b "$address" "$1" --exit-at-end -f '%p %o %T %k %s\n' | sort
}

expect_same() { # expect_same TOPIC WHEN: as they were when last kept
  local changed
  changed=$(records "$1" | diff "$work/$1.records" -) || fail "$2, $1 has other records: $(head -n 5 <<<"$changed")"
}

keep() {
  local topic
  for topic in "$@"; do records "$topic" >"$work/$topic.records"; done
}

# read_on COUNT: the group reads so many records of orders from where it is.
read_on() {
  kafka org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$address" --topic orders --group readers \
    --command-property auto.offset.reset=earliest --max-messages "$1" --timeout-ms 60000 2>>"$work/console.log" | wc -l
}

mapfile -t ports < <(python3 - <<'PYTHON'
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(each.getsockname()[1] for each in sockets), sep="\n")
PYTHON
)
cat >"$work/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:${ports[1]}
listeners=PLAINTEXT://127.0.0.1:${ports[0]},CONTROLLER://127.0.0.1:${ports[1]}
advertised.listeners=PLAINTEXT://127.0.0.1:${ports[0]},CONTROLLER://127.0.0.1:${ports[1]}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=3
PROPERTIES
cluster=$(python3 -c 'import base64, uuid; print("A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22])')
kafka kafka.tools.StorageTool format --standalone -t "$cluster" -c "$work/server.properties" >"$work/format.log" 2>&1 ||
  fail "Kafka's directory cannot be made: $(cat "$work/format.log")"

start_kafka
"$pillion" topic create -b "$address" orders --partitions 2 --config retention.ms=86400000 >/dev/null
"$pillion" topic create -b "$address" latest --partitions 1 --config cleanup.policy=compact >/dev/null
produce orders none 500 kafka
produce latest zstd 100 kafka
produce gone none 1 kafka
[[ $(read_on 300) == 300 ]] || fail "the group did not read 300 records from Kafka"
keep orders latest
stop 143
echo "Kafka has written $(cat "$work"/*.records | wc -l) records"

start_pillion
expect_same orders "taken over"
expect_same latest "taken over"
"$pillion" topic describe -b "$address" orders | grep -q 'retention.ms=86400000' || fail "a setting was not taken over"
[[ $(read_on 200) == 200 ]] || fail "the group did not go on where it was"
# The first producer of all to come, of one record: Kafka's first one later sends one just like it.
"$pillion" produce -b "$address" orders --partition 0 <<<'one of pillion'
produce orders lz4 300 pillion
produce latest gzip 100 pillion
"$pillion" topic create -b "$address" fresh --partitions 2 >/dev/null
produce fresh none 50 fresh
"$pillion" topic delete -b "$address" gone >/dev/null
kill -KILL "$running"
wait "$running" 2>/dev/null || true
start_pillion
produce orders none 100 pillion again
keep orders latest fresh
stop 0
"$pillion" log verify "$data" || fail "pillion log verify finds something wrong"
echo "pillion has taken it over, was killed, and leaves $(cat "$work"/*.records | wc -l) records"

start_kafka
expect_same orders "back in Kafka"
expect_same latest "back in Kafka"
[[ -z $(records gone) ]] || fail "records of a topic deleted meanwhile are back in Kafka"
[[ $(read_on 401) == 401 ]] || fail "the group did not go on in Kafka where it had been in pillion"
"$pillion" produce -b "$address" orders --partition 0 <<<'one of Kafka'
"$pillion" consume -b "$address" orders --partition 0 --from -1 --exit-at-end | grep -qx 'one of Kafka' ||
  fail "Kafka has acknowledged a record that is not there"
"$pillion" topic create -b "$address" fresh --partitions 2 >/dev/null
stop 143
for partition in 0 1; do
  aside=$(find "$data" -maxdepth 1 -name "fresh-$partition.*-stray")
  [[ -n $aside ]] || fail "Kafka has not set fresh-$partition aside"
  find "$data/fresh-$partition" -type f ! -name partition.metadata -delete
  find "$aside" -type f ! -name partition.metadata -exec cp {} "$data/fresh-$partition/" \;
done
start_kafka
expect_same fresh "taken into Kafka"
"$pillion" produce -b "$address" fresh --partition 1 <<<'one more of Kafka'
[[ $(records fresh | wc -l) == 51 ]] || fail "Kafka has acknowledged a record that is not there"
stop 143
echo "Kafka has it all, and has taken in a topic that it did not know"
