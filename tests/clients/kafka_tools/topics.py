"""kafka-topics, kafka-configs and kafka-get-offsets."""

import re
import uuid

import kafka_tools
from waiting import expect


def check(tools):
    topic = f"tools-{uuid.uuid4().hex[:12]}"
    described = made_and_described(tools, topic)
    configs(tools, topic, re.search(r"Leader: (\d+)", described)[1])
    offsets(tools, topic)
    tools.run("TopicCommand", "--delete", "--topic", topic)
    expect(topic not in tools.run("TopicCommand", "--list").splitlines(), f"{topic} is listed after it was deleted")
    gone = tools.refused("TopicCommand", "--describe", "--topic", topic)
    kafka_tools.expect_line(gone, rf".*Topic '{topic}' does not exist.*")


def made_and_described(tools, topic):
    made = tools.run("TopicCommand", "--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1",
                     "--config", "retention.ms=3600000")
    kafka_tools.expect_line(made, rf"Created topic {topic}\.")
    again = tools.refused("TopicCommand", "--create", "--topic", topic)
    kafka_tools.expect_line(again, rf".*[Tt]opic '?{topic}'? already exists.*")
    tools.run("TopicCommand", "--alter", "--topic", topic, "--partitions", "3")
    kafka_tools.expect_line(tools.run("TopicCommand", "--list"), topic)
    described = tools.run("TopicCommand", "--describe", "--topic", topic)
    # What is default is not shown; Kafka itself counts min.insync.replicas as set.
    kafka_tools.expect_line(
        described, rf"Topic: {topic}\tTopicId: \S{{22}}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: "
                   r"(min\.insync\.replicas=1,)?retention\.ms=3600000")
    for partition in range(3):
        kafka_tools.expect_line(
            described, rf"\tTopic: {topic}\tPartition: {partition}\tLeader: (\d+)\tReplicas: \1\tIsr: \1.*")
    return described


def configs(tools, topic, broker):
    tools.run("ConfigCommand", "--alter", "--topic", topic, "--add-config", "max.message.bytes=2000000",
              "--delete-config", "retention.ms")
    shown = tools.run("ConfigCommand", "--describe", "--topic", topic)
    kafka_tools.expect_line(
        shown, r"  max\.message\.bytes=2000000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:max\.message\.bytes=2000000.*")
    expect("retention.ms" not in shown, f"retention.ms was deleted, and is shown:\n{shown}")
    shown = tools.run("ConfigCommand", "--describe", "--all", "--topic", topic)
    kafka_tools.expect_line(shown, r"  cleanup\.policy=delete sensitive=false .*")
    kafka_tools.expect_line(
        shown, r"  max\.message\.bytes=\d+ sensitive=false synonyms=\{.*DEFAULT_CONFIG:message\.max\.bytes=\d+\}")
    shown = tools.run("ConfigCommand", "--describe", "--all", "--broker", broker)
    kafka_tools.expect_line(shown, r"  num\.partitions=\d+ sensitive=false synonyms=\{.*DEFAULT_CONFIG:num\.partitions=1\}")


def offsets(tools, topic):
    tools.produce(topic, 0, 50)
    earliest = tools.offsets(topic, "earliest")
    expect(earliest == {0: 0, 1: 0, 2: 0}, f"earliest: {earliest}")
    latest = tools.offsets(topic)
    expect(len(latest) == 3 and sum(latest.values()) == 50, f"latest: {latest}")
    newest = tools.offsets(topic, "max-timestamp")
    expect(sum(newest.values()) > 0, f"max-timestamp: {newest}")
