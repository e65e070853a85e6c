#!/usr/bin/env bash
# Brings docker-compose.yml up as a user would, lets two orders pass through it, one of which must be compensated, and
# reads their traces back from Jaeger. Takes everything down again; ends with 0 only if all of it was there.
#
#   tests/compose/run.sh          needs docker with compose v2, python3, and nothing else
#   KEEP=1 tests/compose/run.sh   leaves it running, for a look around
set -euo pipefail
cd "$(dirname "$0")/../.."

# A project and ports of its own: the test runs beside whatever else is up.
export COMPOSE_PROJECT_NAME=pillion-test-$$
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
for name in KAFKA_PORT ORDER_PORT JAEGER_PORT POSTGRES_PORT OTLP_GRPC_PORT OTLP_HTTP_PORT; do
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

docker compose up --build --wait --wait-timeout 600
python3 tests/compose/saga.py
