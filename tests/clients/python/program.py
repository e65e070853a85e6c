"""The command line that the Python clients share, and the records they send; ../records.py describes both."""

import sys


def record(name, number):
    """Key, value and headers of a producer's record, as text."""
    headers = [
        ("id", f"{name}-{number}"),
        ("traceparent", f"00-{number + 1:032x}-{number + 1:016x}-01"),
        ("tracestate", f"test=n{number}"),
        ("step", "1"),
        ("step", "2"),
    ]
    return f"key-{number % 31}", f"value-{name}-{number}", headers


def records(name, first, count):
    return [record(name, number) for number in range(int(first), int(first) + int(count))]


def transactions(name, first, count, ends):
    """For each of ENDS its records, and whether it commits."""
    first, count = int(first), int(count)
    return [(records(name, first + index * count, count), end == "commit") for index, end in enumerate(ends.split(","))]


def print_assigned(partitions):
    print("assigned", ",".join(str(each) for each in sorted(partitions)), sep="\t", flush=True)


def print_record(partition, offset, key, value, headers):
    text = ",".join(f"{name}={value.decode()}" for name, value in headers)
    print("record", partition, offset, key.decode(), value.decode(), text, sep="\t", flush=True)


def print_committed(partition, offset):
    print("committed", partition, offset, sep="\t", flush=True)


def main(commands):
    """Runs the command that the program was started with."""
    command, *arguments = sys.argv[1:]
    {each.__name__.rstrip("_"): each for each in commands}[command](*arguments)
