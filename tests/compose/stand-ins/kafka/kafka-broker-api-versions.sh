#!/bin/bash
exec /opt/java/bin/java -Xmx128M -cp '/opt/kafka/libs/*' org.apache.kafka.tools.BrokerApiVersionsCommand "$@"
