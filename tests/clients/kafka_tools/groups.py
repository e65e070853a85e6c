"""kafka-consumer-groups: list, describe, reset-offsets in each form, delete; and where a group's offsets are stored."""

import datetime
import json
import tempfile
import uuid

import kafka_tools
from waiting import expect

COMMAND = "consumer.group.ConsumerGroupCommand"
RECORDS = 100
# Apache Kafka stores a group in the partition abs(hash of its name) % 50, hash being Java's of a string.
DEMO, DEMO_PARTITION = "KafkaConsumerDemo", 35


def consume(tools, topic, group):
    """Reads all records of a topic in a group, which commits and ends."""
    read = tools.run("consumer.ConsoleConsumer", "--topic", topic, "--group", group, "--from-beginning",
                     "--max-messages", str(RECORDS), "--timeout-ms", "60000").splitlines()
    expect(len(read) == RECORDS, f"{group} read {len(read)} of {RECORDS}")


def check(tools):
    topic = tools.create(1)
    group = f"group-{topic}"
    before = datetime.datetime.now(datetime.timezone.utc)
    tools.produce(topic, 0, RECORDS)
    consume(tools, topic, group)
    described(tools, topic, group)
    for form, expected in forms(before):
        reset(tools, topic, group, form, expected)
    from_file(tools, topic, group)
    tools.run(COMMAND, "--delete-offsets", "--group", group, "--topic", topic)
    left = tools.run(COMMAND, "--describe", "--group", group, "--offsets")
    expect(not [row for row in kafka_tools.table(left, "GROUP", "TOPIC") if row["TOPIC"] == topic],
           f"offsets were deleted, and are shown:\n{left}")
    tools.run(COMMAND, "--delete", "--group", group)
    listed = tools.run(COMMAND, "--list").split()
    expect(group not in listed, f"{group} is listed after it was deleted")


def described(tools, topic, group):
    kafka_tools.expect_line(tools.run(COMMAND, "--list"), group)
    shown = tools.run(COMMAND, "--describe", "--group", group)
    rows = kafka_tools.table(shown, "GROUP", "CURRENT-OFFSET", "LAG")
    expected = {"TOPIC": topic, "PARTITION": "0", "CURRENT-OFFSET": str(RECORDS), "LOG-END-OFFSET": str(RECORDS), "LAG": "0"}
    expect(any(expected.items() <= row.items() for row in rows), f"no row {expected} in:\n{shown}")
    shown = tools.run(COMMAND, "--describe", "--group", group, "--state")
    kafka_tools.expect_line(shown, rf"{group} .* Empty +0 *")


def forms(before):
    """Each way to say where to, and the offset it comes to for a group at the end, one after another."""
    yield ["--to-earliest"], 0
    yield ["--to-latest"], RECORDS
    yield ["--to-offset", "40"], 40
    yield ["--shift-by", "-15"], 25
    yield ["--shift-by", "5"], 30
    yield ["--to-current"], 30
    yield ["--to-datetime", before.strftime("%Y-%m-%dT%H:%M:%S.000Z")], 0
    # Nothing is so young: the end.
    yield ["--by-duration", "PT0S"], RECORDS


def reset(tools, topic, group, form, expected):
    shown = tools.run(COMMAND, "--reset-offsets", "--group", group, "--topic", topic, *form, "--execute")
    rows = kafka_tools.table(shown, "GROUP", "NEW-OFFSET")
    wanted = {"GROUP": group, "TOPIC": topic, "PARTITION": "0", "NEW-OFFSET": str(expected)}
    expect(any(wanted.items() <= row.items() for row in rows), f"{' '.join(form)}: no row {wanted} in:\n{shown}")


def from_file(tools, topic, group):
    """What --export prints is what --from-file takes."""
    exported = tools.run(COMMAND, "--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "60", "--export",
                         "--dry-run")
    kafka_tools.expect_line(exported, rf'"?{topic}"?,0,60')
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("\n".join(line for line in exported.splitlines() if topic in line) + "\n")
        file.flush()
        reset(tools, topic, group, ["--from-file", file.name], 60)
    shown = tools.run(COMMAND, "--describe", "--group", group, "--offsets")
    row = next((row for row in kafka_tools.table(shown, "GROUP", "CURRENT-OFFSET") if row["TOPIC"] == topic), {})
    expect(row.get("CURRENT-OFFSET") == "60" and row.get("LAG") == str(RECORDS - 60), f"after the reset to 60:\n{shown}")


def check_place(tools):
    """The console consumer with the offsets formatter shows the group in its partition of __consumer_offsets."""
    topic = f"demo-{uuid.uuid4().hex[:12]}"
    tools.run("TopicCommand", "--create", "--topic", topic, "--partitions", "1", "--replication-factor", "1")
    tools.produce(topic, 0, RECORDS)
    consume(tools, topic, DEMO)
    # It ends with an error when nothing came for a while, after it has printed what is there.
    shown = tools.run("consumer.ConsoleConsumer", "--topic", "__consumer_offsets", "--partition", str(DEMO_PARTITION),
                      "--offset", "earliest", "--timeout-ms", "20000",
                      "--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    ours = [each for each in objects(shown) if each["key"]["data"].get("topic") == topic]
    expect(ours, f"partition {DEMO_PARTITION} of __consumer_offsets has no offset of {topic}:\n{shown}")
    expect(ours[-1]["key"]["data"] == {"group": DEMO, "topic": topic, "partition": 0}, f"its key: {ours[-1]}")
    expect(ours[-1]["value"]["data"]["offset"] == RECORDS, f"its value: {ours[-1]}")


def objects(text):
    """The JSON objects in a text, which the formatter prints one behind the other."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        each, end = decoder.raw_decode(text, at)
        yield each
        at = text.find("{", end)
