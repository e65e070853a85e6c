"""Two orders through the services that docker-compose.yml has brought up, and what must be seen of them.

Ports come from the environment, as run.sh sets them. Prints each order's spans as a tree; exits with 1 and a reason
when something is missing. Standard library only.
"""

import base64
import json
import os
import socket
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from datetime import datetime, timedelta, timezone

ORDERS = f"http://127.0.0.1:{os.environ['ORDER_PORT']}/orders"
JAEGER = f"http://127.0.0.1:{os.environ['JAEGER_PORT']}/api/v3/traces"
KAFKA_PORT = int(os.environ["KAFKA_PORT"])
PATIENCE_S = 60

# For each order: what is ordered, how it ends, and how many spans of each kind its trace must hold at the least:
# (service, first word or words of the span's name).
CASES = [
    (
        {"customer": "ada", "sku": "bicycle", "quantity": 1, "amountCents": 45000},
        "CONFIRMED",
        # placed, payment completed, stock reserved, confirmed
        {
            ("order", "POST /orders"): 1,
            ("pillion", "outbox relay"): 4,
            ("payment", "process"): 1,
            ("inventory", "process"): 1,
            ("order", "process"): 1,
        },
    ),
    (
        {"customer": "ada", "sku": "unicorn", "quantity": 1, "amountCents": 45000},
        "CANCELLED",
        # placed, payment completed, stock unavailable, payment refunded, cancelled
        {
            ("order", "POST /orders"): 1,
            ("pillion", "outbox relay"): 5,
            ("payment", "process"): 2,
            ("inventory", "process"): 1,
            ("order", "process"): 1,
        },
    ),
]


def main():
    advertised = advertised_brokers("127.0.0.1", KAFKA_PORT)
    if advertised != [("127.0.0.1", KAFKA_PORT)]:
        sys.exit(f"the listener for this machine advertises {advertised}, not 127.0.0.1:{KAFKA_PORT}")
    began = datetime.now(timezone.utc) - timedelta(minutes=1)
    placed = [(post(ORDERS, order), state, wanted) for order, state, wanted in CASES]
    for answer, state, _ in placed:
        wait_for(f"order {answer['orderId']} to be {state}", lambda: other_state(answer["orderId"], state))
    for answer, state, wanted in placed:
        trace_id = answer["traceId"]
        wait_for(f"the trace {trace_id} of the {state} order", lambda: missing(trace(trace_id, began), wanted))
        spans = trace(trace_id, began)
        print(f"\n{state}: order {answer['orderId']}, trace {trace_id}, {len(spans)} spans")
        print_tree(spans)


def wait_for(what, lacks):
    """Asks until nothing is lacking; a question that cannot be answered yet is asked again too."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            reason = lacks()
        except (OSError, KeyError) as error:
            reason = repr(error)
        if not reason:
            return
        if time.monotonic() > deadline:
            sys.exit(f"waited {PATIENCE_S} s for {what}: {reason}")
        time.sleep(0.2)


def other_state(order_id, wanted):
    """The order's state, if it is not the wanted one."""
    state = get(f"{ORDERS}/{order_id}")["state"]
    return "" if state == wanted else f"it is {state}"


def missing(spans, wanted):
    """What the trace still lacks; nothing when it is whole: every wanted span, one root, and no parent unknown."""
    found = Counter()
    for span in spans:
        for service, name in wanted:
            if span["service"] == service and span["name"].startswith(name):
                found[service, name] += 1
    lacking = [f"{wanted[kind] - found[kind]} x {kind}" for kind in wanted if found[kind] < wanted[kind]]
    ids = {span["id"] for span in spans}
    lacking += [f"the parent of {span['name']}" for span in spans if span["parent"] and span["parent"] not in ids]
    roots = [span["name"] for span in spans if not span["parent"]]
    if len(roots) != 1:
        lacking.append(f"one root instead of {roots}")
    return ", ".join(lacking)


def trace(trace_id, began):
    """The trace's spans, in the order they began; none if Jaeger does not have it yet. All four parameters must be there."""
    query = {
        "query.service_name": "order",
        "query.start_time_min": timestamp(began),
        "query.start_time_max": timestamp(datetime.now(timezone.utc) + timedelta(minutes=1)),
        "query.num_traces": "100",
    }
    try:
        answer = get(f"{JAEGER}?{urllib.parse.urlencode(query)}")
    except urllib.error.HTTPError as error:
        if error.code == 404:  # no trace matches
            return []
        raise
    spans = []
    for resource in answer["result"]["resourceSpans"]:
        attributes = {each["key"]: each["value"] for each in resource["resource"]["attributes"]}
        service = attributes["service.name"]["stringValue"]
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            if hexadecimal(span["traceId"]) == trace_id:
                spans.append(
                    {
                        "service": service,
                        "name": span["name"],
                        "id": hexadecimal(span["spanId"]),
                        "parent": hexadecimal(span.get("parentSpanId", "")),
                        "links": len(span.get("links", [])),
                        "start": int(span["startTimeUnixNano"]),
                        "end": int(span["endTimeUnixNano"]),
                    }
                )
    return sorted(spans, key=lambda span: span["start"])


def print_tree(spans):
    first = spans[0]["start"]

    def branch(parent, depth):
        for span in (span for span in spans if span["parent"] == parent):
            began, took = (span["start"] - first) / 1e6, (span["end"] - span["start"]) / 1e6
            link = "  (linked)" if span["links"] else ""
            print(f"{began:9.1f} ms {took:8.1f} ms  {'  ' * depth}{span['name']} [{span['service']}]{link}")
            branch(span["id"], depth + 1)

    branch("", 0)


def hexadecimal(id_text):
    """Ids are hexadecimal in OTLP's JSON, base64 in plain protobuf's."""
    return id_text if len(id_text) in (0, 16, 32) else base64.b64decode(id_text).hex()


def timestamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def advertised_brokers(host, port):
    """Asks by Kafka's Metadata (version 1, of no topic) what clients of this listener are told to connect to."""
    request = struct.pack(">hhihi", 3, 1, 1, -1, 0)
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        stream = connection.makefile("rb")
        (length,) = struct.unpack(">i", stream.read(4))
        body = stream.read(length)
    (count,) = struct.unpack_from(">i", body, 4)
    brokers, at = [], 8
    for _ in range(count):
        (host_length,) = struct.unpack_from(">h", body, at + 4)
        name = body[at + 6 : at + 6 + host_length].decode()
        at += 6 + host_length
        broker_port, rack_length = struct.unpack_from(">ih", body, at)
        at += 6 + max(rack_length, 0)
        brokers.append((name, broker_port))
    return brokers


main()
