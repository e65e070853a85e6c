#!/usr/bin/env bash
# The three programs one after another. With an address they use that broker, Apache Kafka's or ours; without, they start one.
#
#   examples/delivery/run.sh [HOST:PORT]
#
# Needs python3 with venv, and the package registry for confluent-kafka; PILLION is the program, target/debug/pillion if unset.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
built=${CARGO_TARGET_DIR:-$here/../../target}
address=${1:-}

if [[ ! -x $built/delivery/bin/python ]]; then
  python3 -m venv "$built/delivery"
  "$built/delivery/bin/pip" install --quiet --disable-pip-version-check confluent-kafka==2.16.1
fi

if [[ -z $address ]]; then
  data=$(mktemp -d)
  "${PILLION:-$built/debug/pillion}" broker --data-dir "$data" --listen 127.0.0.1:0 >"$data.address" 2>"$data.log" &
  broker=$!
  trap 'kill "$broker" 2>/dev/null && wait "$broker"; rm -rf "$data" "$data.address" "$data.log"' EXIT
  for ((tries = 0; tries < 100; tries++)); do
    if grep -q : "$data.address"; then break; fi
    kill -0 "$broker" || { cat "$data.log" >&2; exit 1; }
    sleep 0.1
  done
  address=$(head -n1 "$data.address")
fi

verdict=0
for name in at_most_once at_least_once exactly_once; do
  echo "== $name"
  PYTHONDONTWRITEBYTECODE=1 "$built/delivery/bin/python" "$here/$name.py" "$address" || verdict=1
done
exit "$verdict"
