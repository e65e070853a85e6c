#!/bin/bash
# KAFKA_NODE_ID becomes node.id, and so on; then a fresh directory is formatted and the node started.
set -e
properties=/tmp/server.properties
env | grep '^KAFKA_' | while IFS='=' read -r name value; do
  key=${name#KAFKA_}
  key=${key,,}
  echo "${key//_/.}=$value"
done >"$properties"
java=(/opt/java/bin/java -cp '/opt/kafka/libs/*')
if [ ! -e "$KAFKA_LOG_DIRS/meta.properties" ]; then
  identity=$("${java[@]}" -Xmx128M kafka.tools.StorageTool random-uuid 2>/dev/null | tail -1)
  "${java[@]}" -Xmx128M kafka.tools.StorageTool format --cluster-id "$identity" --config "$properties"
fi
exec "${java[@]}" -server -Xmx512M -XX:+UseG1GC kafka.Kafka "$properties"
