"""What a reader of committed records sees of the topics, held against the rows that were committed."""

import json
from collections import Counter

from processes import Failed, run

TOPICS = ("outbox.event.order", "outbox.event.payment")


def events(pillion, bootstrap, environment):
    """Every event a read_committed reader gets, in the order of its partition: (topic, partition, id, key, number)."""
    found = []
    for topic in TOPICS:
        lines = run([pillion, "consume", topic, "--read-committed", "--exit-at-end", "--json", "-b", bootstrap],
                    environment, seconds=600).splitlines()
        for line in lines:
            record = json.loads(line)
            headers = {header["key"]: header["value"] for header in record["headers"]}
            number = json.loads(record["value"])["number"]
            found.append((topic, record["partition"], headers["id"], record["key"], number))
    return found


def check(rows, seen):
    """Nothing lost, nothing repeated, each key in order and in one partition."""
    published = Counter(event[2] for event in seen)
    committed = {row[0] for row in rows}
    lost = committed - set(published)
    invented = set(published) - committed
    repeated = [event for event, times in published.items() if times > 1]
    problems = []
    for what, ids in (("lost", lost), ("never committed", invented), ("repeated", repeated)):
        if ids:
            problems.append(f"{len(ids)} events {what}, such as {sorted(ids)[:3]}")
    last, places = {}, {}
    for topic, partition, _, key, number in seen:
        if number <= last.get(key, 0):
            problems.append(f"key {key} steps from {last[key]} to {number} in {topic}-{partition}")
        last[key] = number
        if places.setdefault(key, (topic, partition)) != (topic, partition):
            problems.append(f"key {key} is in {places[key]} and in {(topic, partition)}")
    if problems:
        raise Failed("; ".join(problems[:10]))
