#!/usr/bin/env bash
# Clients of other makers against a running broker: each produces keyed records with headers, consumes them in a group of
# two, commits, and comes back; then Python's, Java's and Go's share one topic and one group. A line per client, and an
# exit code that tells. A client whose toolchain is missing is named and skipped.
#
#   pillion broker --data-dir DIR --listen 127.0.0.1:0 --set num.partitions=3     prints HOST:PORT
#   tests/clients/run.sh HOST:PORT
#
#   KAFKA_RUN="/opt/kafka/bin/kafka-run-class.sh" tests/clients/run.sh HOST:PORT
#       also Kafka's console tools, kafka-topics, kafka-configs and kafka-get-offsets, through a command that runs a class
#   ONLY="PYTHON GO" tests/clients/run.sh HOST:PORT       of PYTHON, GO, JAVA, KCAT, KAFKA_RUN
#
# Needs python3; any broker that makes topics when they are asked for, with two partitions or more. What is built and
# installed goes to target/clients.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bootstrap=${1:?usage: tests/clients/run.sh HOST:PORT}
built=${CARGO_TARGET_DIR:-$here/../../target}/clients
mkdir -p "$built"
built=$(cd "$built" && pwd)

wanted() {
  [[ " ${ONLY:-$1} " == *" $1 "* ]] || return 1
  shift
  local command
  for command in "$@"; do
    command -v "$command" >/dev/null || { echo "$command is not installed, its client is skipped"; return 1; }
  done
}

# From here on a variable holds a client's command, one word a line, if it was built here.
unset PYTHON GO JAVA KCAT

if wanted PYTHON python3; then
  stamp=$built/python/requirements.txt
  if ! cmp --silent "$here/python/requirements.txt" "$stamp"; then
    python3 -m venv --clear "$built/python"
    "$built/python/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/python/requirements.txt"
    cp "$here/python/requirements.txt" "$stamp"
  fi
  export PYTHON="$built/python/bin/python"$'\n'"$here/python/client.py"
fi

if wanted GO go; then
  go -C "$here/go" build -o "$built/go-client" .
  export GO=$built/go-client
fi

if wanted JAVA java mvn; then
  # Maven says what failed on standard output, and resets the terminal's colours when nothing did.
  mvn --batch-mode --quiet --file "$here/java/pom.xml" "-Dclient.build=$built/java" compile >"$built/maven.log" ||
    { cat "$built/maven.log" >&2; exit 1; }
  export JAVA=$'java\n-Xmx256M\n-Dorg.slf4j.simpleLogger.defaultLogLevel=warn\n-cp\n'"$built/java/classes:$built/java/libraries/*"$'\npillion.clients.Client'
fi

if wanted KCAT kcat; then export KCAT=kcat; fi
if ! wanted KAFKA_RUN; then unset KAFKA_RUN; elif [[ -z ${KAFKA_RUN:-} ]]; then
  echo "KAFKA_RUN is not set, Kafka's own tools are skipped"
fi

PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/check.py" "$bootstrap"
