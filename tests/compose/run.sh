#!/usr/bin/env bash
# Brings docker-compose.yml up as a user would; places orders of both styles, some of which must be compensated; registers
# a customer, and one more while that service's database is paused; and reads the traces back from Jaeger. Then down and
# up again: what was ordered is still there. Takes everything down; ends with 0 only if all of it was there.
#
#   tests/compose/run.sh                       needs docker with compose v2, python3, and nothing else
#   KEEP=1 tests/compose/run.sh                leaves it running, for a look around
#   PREBUILT=1 tests/compose/run.sh            takes the images pillion and pillion-saga as they are
#   BROKER=kafka:9092 COMPOSE_PROFILES=kafka tests/compose/run.sh      with Apache Kafka in place of pillion's broker
#   COMPOSE_PROFILES=metrics tests/compose/run.sh                      and Prometheus
set -euo pipefail
cd "$(dirname "$0")/../.."

# A project and ports of its own: the test runs beside whatever else is up.
export COMPOSE_PROJECT_NAME=pillion-test-$$
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
for name in KAFKA_PORT SHOP_PORT PILLION_PORT PROMETHEUS_PORT JAEGER_PORT POSTGRES_PORT OTLP_GRPC_PORT OTLP_HTTP_PORT; do
    port=$(free_port)
    export "$name=$port"
done

finish() {
    local status=$?
    trap - EXIT
    if [ "$status" != 0 ]; then
        docker compose ps --all || true
        docker compose logs --no-color --tail 60 || true
    fi
    if [ -n "${KEEP:-}" ]; then
        echo "left running: docker compose -p $COMPOSE_PROJECT_NAME down -v"
    else
        docker compose down --volumes --remove-orphans || status=1
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

if [ -z "${PREBUILT:-}" ]; then
    docker compose --profile tools build
fi
began=$(date +%s%3N)
docker compose up --wait --wait-timeout 600
echo "from images to all healthy: $(($(date +%s%3N) - began)) ms"
docker image inspect --format 'image pillion: {{.Size}} bytes' pillion
docker compose run --rm orders
python3 tests/compose/saga.py

placed=$(curl --silent "http://127.0.0.1:$SHOP_PORT/sagas?state=completed" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["sagas"]))')
docker compose down
docker compose up --wait --wait-timeout 600
kept=$(curl --silent "http://127.0.0.1:$SHOP_PORT/sagas?state=completed" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["sagas"]))')
if [ "$placed" != "$kept" ] || [ "$kept" = 0 ]; then
    echo "$placed sagas had ended well before down, $kept are known after up"
    exit 1
fi
docker compose run --rm orders
