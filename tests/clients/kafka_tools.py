"""Kafka's own administrative tools: kafka-topics, kafka-configs and kafka-get-offsets, and what they must print."""

import re
import uuid

from programs import run


def check(console, bootstrap):
    topic = f"tools-{uuid.uuid4().hex[:12]}"
    server = ["--bootstrap-server", bootstrap]

    def topics(*arguments):
        return run(console.tool("TopicCommand", *server, *arguments))

    expect_line(topics("--create", "--topic", topic, "--partitions", "3", "--replication-factor", "1",
                       "--config", "retention.ms=3600000"), rf"Created topic {topic}\.")
    again = refused(lambda: topics("--create", "--topic", topic))
    expect_line(again, rf".*[Tt]opic '{topic}' already exists.*")
    expect_line(topics("--list"), topic)
    described = topics("--describe", "--topic", topic)
    # What is default is not shown; Kafka itself counts min.insync.replicas as set.
    expect_line(described, rf"Topic: {topic}\tTopicId: \S{{22}}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: "
                           r"(min\.insync\.replicas=1,)?retention\.ms=3600000")
    for partition in range(3):
        expect_line(described, rf"\tTopic: {topic}\tPartition: {partition}\tLeader: (\d+)\tReplicas: \1\tIsr: \1.*")

    configs = run(console.tool("ConfigCommand", *server, "--describe", "--topic", topic))
    expect_line(configs, r"  retention\.ms=3600000 sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:retention\.ms=3600000.*")
    configs = run(console.tool("ConfigCommand", *server, "--describe", "--all", "--topic", topic))
    expect_line(configs, r"  cleanup\.policy=delete sensitive=false .*")
    expect_line(configs, r"  max\.message\.bytes=\d+ sensitive=false synonyms=\{.*DEFAULT_CONFIG:message\.max\.bytes=\d+\}")
    broker = re.search(r"Leader: (\d+)", described)[1]
    configs = run(console.tool("ConfigCommand", *server, "--describe", "--all", "--broker", broker))
    expect_line(configs, r"  num\.partitions=\d+ sensitive=false synonyms=\{.*DEFAULT_CONFIG:num\.partitions=1\}")

    console.produce(bootstrap, topic, "tools", 0, 50)

    def offsets(time):
        lines = run(console.tool("GetOffsetShell", *server, "--topic", topic, "--time", time)).splitlines()
        return {int(partition): int(offset) for _, partition, offset in (line.rsplit(":", 2) for line in lines)}

    expect(offsets("earliest") == {0: 0, 1: 0, 2: 0}, f"earliest: {offsets('earliest')}")
    latest = offsets("latest")
    expect(len(latest) == 3 and sum(latest.values()) == 50, f"latest: {latest}")
    expect(sum(offsets("max-timestamp").values()) > 0, f"max-timestamp: {offsets('max-timestamp')}")

    topics("--delete", "--topic", topic)
    expect(topic not in topics("--list").splitlines(), f"{topic} is listed after it was deleted")
    expect_line(refused(lambda: topics("--describe", "--topic", topic)), rf".*Topic '{topic}' does not exist.*")


def refused(call):
    """What a tool said that must end with an error."""
    try:
        answer = call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError(f"this was not refused: {answer}")


def expect_line(text, pattern):
    expect(any(re.fullmatch(pattern, line) for line in text.splitlines()), f"no line {pattern!r} in:\n{text}")


def expect(is_so, otherwise):
    if not is_so:
        raise AssertionError(otherwise)


CHECKS = {"topics made, listed, described, deleted; configs; offsets": check}
