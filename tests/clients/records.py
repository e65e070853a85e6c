"""What every client program does on its command line, the records it sends, and the lines it prints.

    version                                           its name and version, one line
    create   BOOTSTRAP TOPIC PARTITIONS
    produce  BOOTSTRAP TOPIC NAME FIRST COUNT         COUNT records of the producer NAME, from number FIRST on
    consume  BOOTSTRAP TOPIC GROUP                    from the beginning, read_committed, in a group, until SIGTERM; each
                                                      batch is printed and committed before the next is asked for
    transact BOOTSTRAP TOPIC NAME FIRST COUNT ENDS    one producer with the transactional id NAME; for each of ENDS
                                                      (`commit,abort,…`) a transaction of the next COUNT records, which
                                                      ends so after all of them were acknowledged
    copy     BOOTSTRAP SOURCE TARGET GROUP ID COUNT END
                                                      consumes COUNT records in GROUP and sends them on unchanged, in
                                                      transactions of ID that carry the group's offsets. If END is `abort`,
                                                      the first transaction aborts and it ends

Record N of the producer NAME has the key `key-<N % 31>`, the value `value-NAME-N` and these headers in this order:

    id=NAME-N  traceparent=00-<N + 1, 32 hex digits>-<N + 1, 16 hex digits>-01  tracestate=test=nN  step=1  step=2

(two of one name: headers are a list, not a map). A client in a group prints one line per event, tabs between fields:

    assigned   PARTITION,PARTITION,…                               all that it has now
    record     PARTITION  OFFSET  KEY  VALUE  NAME=VALUE,NAME=VALUE,…
    committed  PARTITION  OFFSET                                   everything up to this record is committed
"""

from dataclasses import dataclass

KEYS = 31


@dataclass(frozen=True)
class Record:
    key: str
    value: str
    headers: tuple


@dataclass(frozen=True)
class Consumed:
    partition: int
    offset: int
    record: Record

    @property
    def id(self):
        return dict(self.record.headers).get("id")


def record(name, number):
    """What the producer `name` sends as its record `number`."""
    headers = (
        ("id", f"{name}-{number}"),
        ("traceparent", f"00-{number + 1:032x}-{number + 1:016x}-01"),
        ("tracestate", f"test=n{number}"),
        ("step", "1"),
        ("step", "2"),
    )
    return Record(f"key-{number % KEYS}", f"value-{name}-{number}", headers)


def parse_headers(text, separator="="):
    return tuple(tuple(each.split(separator, 1)) for each in text.split(",") if each)


def consumed(partition, offset, key, value, headers, separator="="):
    return Consumed(int(partition), int(offset), Record(key, value, parse_headers(headers, separator)))
