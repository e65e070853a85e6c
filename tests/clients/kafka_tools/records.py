"""kafka-delete-records and kafka-log-dirs."""

import json
import tempfile

import kafka_tools
from waiting import expect


def check(tools):
    topic = tools.create(1)
    tools.produce(topic, 0, 60)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 25}]}, file)
        file.flush()
        shown = tools.run("DeleteRecordsCommand", "--offset-json-file", file.name)
    kafka_tools.expect_line(shown, rf"partition: {topic}-0\tlow_watermark: 25")
    earliest, latest = tools.offsets(topic, "earliest"), tools.offsets(topic)
    expect((earliest, latest) == ({0: 25}, {0: 60}), f"after records below 25 were deleted: {earliest}, {latest}")
    log_directories(tools, topic)


def log_directories(tools, topic):
    shown = tools.run("LogDirsCommand", "--describe", "--topic-list", topic)
    answer = json.loads(next(line for line in shown.splitlines() if line.startswith("{")))
    directories = [each for broker in answer["brokers"] for each in broker["logDirs"]]
    partitions = [each for directory in directories for each in directory["partitions"]]
    expect([each["partition"] for each in partitions] == [f"{topic}-0"], f"log directories: {shown}")
    expect(partitions[0]["size"] > 0 and not partitions[0]["isFuture"], f"log directories: {shown}")
    expect(all(each["error"] is None for each in directories), f"log directories: {shown}")
