#!/usr/bin/env bash
# Images under the upstream names for the profiles of docker-compose.yml, where no registry of images can be reached:
# Apache Kafka's own jars on this machine's Java, and Debian's Prometheus.
#
#   KAFKA_LIBS=directory of Kafka's jars tests/compose/stand-ins/build.sh
#
# Needs docker, java and, on Debian, apt-get. The versions inside are told; they are not always those of the name.
set -euo pipefail
cd "$(dirname "$0")"

tag_of() { awk -v name="$1" '$1 == "image:" && index($2, name ":") == 1 { print $2 }' ../../../docker-compose.yml; }

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

if [[ -n ${KAFKA_LIBS:-} ]]; then
  mkdir "$context/kafka"
  cp kafka/* "$context/kafka/"
  cp -r "$KAFKA_LIBS" "$context/kafka/libs"
  mkdir "$context/kafka/java"
  # With what its links lead to, for Debian keeps a part of it in /etc; the sources may not be there.
  tar --create --dereference --exclude=src.zip --directory "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")" . |
    tar --extract --directory "$context/kafka/java"
  docker build --quiet --tag "$(tag_of apache/kafka)" "$context/kafka"
  echo "$(tag_of apache/kafka) holds $(basename "$(ls "$KAFKA_LIBS"/kafka-server-[0-9]*.jar)")"
fi

mkdir -p "$context/prometheus"
cp prometheus/* "$context/prometheus/"
(cd "$context/prometheus" && apt-get download prometheus >/dev/null && dpkg-deb --extract prometheus_*.deb root && rm prometheus_*.deb)
docker build --quiet --tag "$(tag_of prom/prometheus)" "$context/prometheus"
echo "$(tag_of prom/prometheus) holds $("$context/prometheus/root/usr/bin/prometheus" --version 2>&1 | head -1)"
