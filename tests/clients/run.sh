#!/usr/bin/env bash
# Clients of other makers against a running broker: each consumes in a group that members join and leave, comes back, and
# commits and aborts transactions where it has them; then one of each language share one topic and one group. A line for each
# client, and an exit code that tells. A client whose toolchain is missing, or that cannot be built here, is named and skipped.
#
#   pillion broker --data-dir DIR --listen 127.0.0.1:0 --set num.partitions=3     prints HOST:PORT
#   tests/clients/run.sh HOST:PORT                          all of them
#   tests/clients/run.sh HOST:PORT kafkajs sarama           these
#   tests/clients/run.sh list                               their names
#   KAFKA_RUN="/opt/kafka/bin/kafka-run-class.sh" tests/clients/run.sh HOST:PORT kafka-tools
#       Kafka's own command-line tools, by a command that runs a class out of Kafka's jars
#
# Needs python3; any broker that makes topics when they are asked for, with two partitions or more. What is fetched from the
# package registries and built goes to CLIENTS_CACHE, target/clients if that is not set.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
all=(confluent-python aiokafka franz-go sarama kafka-go kafka-clients-4.4 kafka-clients-2.1 kafka-clients-1.1 spring-kafka
  kafkajs platformatic confluent-javascript kcat kafka-tools)
[[ ${1:-} != list ]] || { printf '%s\n' "${all[@]}"; exit; }
bootstrap=${1:?usage: tests/clients/run.sh HOST:PORT [NAME...]}
shift
built=${CLIENTS_CACHE:-${CARGO_TARGET_DIR:-$here/../../target}/clients}
mkdir -p "$built"
built=$(cd "$built" && pwd)

# Each of these builds what it needs, if it has changed, and leaves a client's command in `words`.
words=()

has() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "skip  $name: $program is not installed"; return 1; }
  done
}

# is_fresh STAMP SOURCES...: nothing has changed since `stamp STAMP SOURCES...`.
is_fresh() { [[ -f $1 && $(<"$1") == "$(sum "${@:2}")" ]]; }
stamp() { sum "${@:2}" >"$1"; }
sum() { find "$@" -type f -exec sha256sum {} + | sort | sha256sum; }

python_client() { # python_client FILE
  has python3 || return 1
  local home=$built/python
  if ! is_fresh "$home/stamp" "$here/python/requirements.txt"; then
    python3 -m venv --clear "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/python/requirements.txt"
    stamp "$home/stamp" "$here/python/requirements.txt"
  fi
  words=("$home/bin/python" "$here/python/$1")
}

go_client() { # go_client FOLDER
  has go || return 1
  go -C "$here/go" build -o "$built/go-$1" "./$1"
  words=("$built/go-$1")
}

java_client() { # java_client VERSION
  has java javac mvn || return 1
  local home=$built/java-$1 sources=("$here/java/src" "$here/java/versions/$1")
  java_build "$here/java/pom.xml" "-Dkafka.version=$1"
  words=(java -Xmx256M -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$home/classes:$home/libraries/*" pillion.clients.Client)
}

spring_client() {
  has java javac mvn || return 1
  local home=$built/java-spring spring=$here/java/spring
  local sources=("$spring/src" "$here/java/src/pillion/clients/Records.java")
  java_build "$spring/pom.xml"
  cp "$spring"/resources/* "$home/classes"
  words=(java -Xmx256M -cp "$home/classes:$home/libraries/*" pillion.clients.Application)
}

java_build() { # java_build POM OPTIONS...: `sources` to $home/classes, the libraries of POM to $home/libraries
  ! is_fresh "$home/stamp" "$1" "${sources[@]}" || return 0
  rm -rf "$home"
  mkdir -p "$home"
  # Maven says what failed on standard output, and resets the terminal's colours when nothing did.
  mvn --batch-mode --quiet --file "$1" "${@:2}" "-Dlibraries=$home/libraries" dependency:copy-dependencies \
    >"$home/maven.log" 2>&1 || { cat "$home/maven.log" >&2; return 1; }
  # -parameters: Spring finds beans by the names of arguments.
  find "${sources[@]}" -name '*.java' -exec \
    javac --release 17 -parameters -cp "$home/libraries/*" -d "$home/classes" {} +
  stamp "$home/stamp" "$1" "${sources[@]}"
}

node_client() { # node_client FOLDER
  has node npm || return 1
  local home=$built/js/$1 node
  mkdir -p "$home"
  cp "$here"/js/*.mjs "$built/js"
  cp "$here/js/$1"/* "$home"
  if ! is_fresh "$home/stamp" "$home/package.json"; then
    # The one client that is not JavaScript alone has no binary in the registry: it is built with the system's libraries.
    CKJS_LINKING=dynamic npm --prefix "$home" install --no-audit --no-fund --loglevel=error >"$home/npm.log" 2>&1 || {
      echo "skip  $name: npm cannot install it; see $home/npm.log (confluent-javascript is built: it wants a C++ compiler and" \
        "the packages libssl-dev zlib1g-dev libzstd-dev libcurl4-openssl-dev libsasl2-dev)"
      return 1
    }
    stamp "$home/stamp" "$home/package.json"
  fi
  node=node
  # A client may want a newer Node.js than the one installed, and then brings it.
  [[ ! -x $home/node_modules/node/bin/node ]] || node=$home/node_modules/node/bin/node
  words=("$node" "$home/main.mjs")
}

client() {
  case $name in
    confluent-python) python_client confluent.py ;;
    aiokafka) python_client asyncio_client.py ;;
    franz-go) go_client franz ;;
    sarama) go_client sarama ;;
    kafka-go) go_client segmentio ;;
    kafka-clients-4.4) java_client 4.4.0 ;;
    kafka-clients-2.1) java_client 2.1.0 ;;
    kafka-clients-1.1) java_client 1.1.1 ;;
    spring-kafka) spring_client ;;
    kafkajs) node_client kafkajs ;;
    platformatic) node_client platformatic ;;
    confluent-javascript) node_client confluent ;;
    kcat) has kcat && words=(kcat) ;;
    kafka-tools)
      [[ -n ${KAFKA_RUN:-} ]] || { echo "skip  $name: KAFKA_RUN is not set"; return 1; }
      words=("$KAFKA_RUN") ;;
    *) echo "there is no client $name; there are ${all[*]}" >&2; exit 2 ;;
  esac
}

commands=()
for name in "${@:-${all[@]}}"; do
  if client; then commands+=("$(IFS=$'\t'; echo "$name"$'\t'"${words[*]}")"); fi
done
((${#commands[@]})) || exit 1
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/check.py" "$bootstrap" "${commands[@]}"
