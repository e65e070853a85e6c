"""kafka-verifiable-producer and -consumer, kafka-producer-perf-test and kafka-consumer-perf-test."""

import json
import re

from waiting import expect

RECORDS = 2000


def check(tools):
    topic = tools.create(3, "load")
    lines = tools.run("VerifiableProducer", "--topic", topic, "--max-messages", str(RECORDS), "--acks", "-1")
    summary = events(lines, "tool_data")[0]
    expect((summary["sent"], summary["acked"]) == (RECORDS, RECORDS), f"the verifiable producer: {summary}")
    lines = tools.run("VerifiableConsumer", "--topic", topic, "--group-id", f"group-{topic}", "--reset-policy", "earliest",
                      "--max-messages", str(RECORDS))
    read = sum(each["count"] for each in events(lines, "records_consumed"))
    committed = events(lines, "offsets_committed")
    expect(read == RECORDS, f"the verifiable consumer read {read} of {RECORDS}")
    expect(committed and all(each["success"] for each in committed), f"the verifiable consumer committed: {committed}")
    performance(tools, topic)


def performance(tools, topic):
    written = tools.run("ProducerPerformance", "--topic", topic, "--num-records", str(RECORDS), "--record-size", "200",
                        "--throughput", "-1", "--command-property", "acks=all")
    expect(f"{RECORDS} records sent" in written, f"the performance producer: {written}")
    read = tools.run("ConsumerPerformance", "--topic", topic, "--num-records", str(2 * RECORDS), "--timeout", "60000",
                     "--group", f"performance-{topic}")
    figures = [int(number) for number in re.findall(r"(?<=, )(\d{4,})(?=, )", read)]
    expect(any(number >= 2 * RECORDS for number in figures), f"the performance consumer read {read}")


def events(lines, name):
    parsed = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    return [each for each in parsed if each["name"] == name]
