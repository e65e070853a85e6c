"""How each client is started: to make a topic, to produce, and as a member of a group.

Our own small programs (python/, go/, java/, js/) share the command line that records.py describes. Kafka's console tools
and kcat have theirs, and are given the same records and read back as the same `Consumed`.
"""

import shlex
import subprocess

from records import Record, consumed, record


class Program:
    """One of our own programs, which all take the same commands and print the same lines."""

    is_ours = True
    records_per_wave = 200

    def __init__(self, command, prints_assignment=True, repeats_headers=True, aborts_at_once=2, no_transactions=None):
        """`aborts_at_once`: how many aborted transactions of one producer its reader can tell in one answer.
        `no_transactions` says why it has none."""
        self.command = command
        self.prints_assignment = prints_assignment
        self.repeats_headers = repeats_headers
        self.aborts_at_once = aborts_at_once
        self.no_transactions = no_transactions

    def version(self):
        return run([*self.command, "version"]).strip()

    def create(self, bootstrap, topic, partitions):
        run([*self.command, "create", bootstrap, topic, str(partitions)])

    def produce(self, bootstrap, topic, name, first, count):
        run([*self.command, "produce", bootstrap, topic, name, str(first), str(count)])

    def transact(self, bootstrap, topic, name, first, count, ends):
        run([*self.command, "transact", bootstrap, topic, name, str(first), str(count), ",".join(ends)])

    def copy(self, bootstrap, source, target, group, id, count, end):
        run([*self.command, "copy", bootstrap, source, target, group, id, str(count), end])

    def sent(self, record):
        """The record as it sends it: of headers with one name perhaps only the last."""
        return record if self.repeats_headers else Record(record.key, record.value, tuple(dict(record.headers).items()))

    def member(self, bootstrap, topic, group):
        """The command line of a consumer in a group, which goes on until SIGTERM."""
        return [*self.command, "consume", bootstrap, topic, group]

    def event(self, line):
        """What a line of a consumer's says: ("assigned", partitions), ("record", Consumed), or None."""
        kind, *fields = line.split("\t")
        if kind == "assigned":
            return kind, [int(each) for each in fields[0].split(",") if each]
        if kind == "committed":
            return kind, (int(fields[0]), int(fields[1]))
        return (kind, consumed(*fields)) if kind == "record" else None


class ConsoleTools:
    """Kafka's console producer and consumer. `kafka_run` is a command that runs a class out of Kafka's jars."""

    is_ours = False
    prints_assignment = False
    no_transactions = "it has none"

    def sent(self, record):
        return record
    records_per_wave = 200

    def __init__(self, kafka_run):
        self.kafka_run = shlex.split(kafka_run)

    def tool(self, name, *arguments):
        return [*self.kafka_run, f"org.apache.kafka.tools.{name}", *arguments]

    def version(self):
        answer = run(self.tool("TopicCommand", "--version")).split()
        return f"console tools {answer[0]}"

    def create(self, bootstrap, topic, partitions):
        run(self.tool("TopicCommand", "--bootstrap-server", bootstrap, "--create", "--topic", topic,
                      "--partitions", str(partitions)))

    def produce(self, bootstrap, topic, name, first, count):
        lines = []
        for number in range(first, first + count):
            each = record(name, number)
            headers = ",".join(f"{key}:{value}" for key, value in each.headers)
            lines.append(f"{headers}\t{each.key}\t{each.value}\n")
        run(self.tool("ConsoleProducer", "--bootstrap-server", bootstrap, "--topic", topic,
                      "--compression-codec", "gzip",
                      "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"),
            "".join(lines))

    def member(self, bootstrap, topic, group):
        shown = [f"print.{what}=true" for what in ("partition", "offset", "headers", "key")]
        properties = [word for each in shown for word in ("--formatter-property", each)]
        return self.tool("consumer.ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", topic,
                         "--group", group, "--from-beginning", *properties)

    def event(self, line):
        partition, offset, headers, key, value = line.split("\t")
        position = partition.removeprefix("Partition:"), offset.removeprefix("Offset:")
        return "record", consumed(*position, key, value, headers, separator=":")


class Kcat:
    """kcat, which takes headers for a whole run only: one run per record, so a few records."""

    is_ours = False
    prints_assignment = False
    no_transactions = "it has none"

    def sent(self, record):
        return record
    records_per_wave = 31

    def version(self):
        words = run(["kcat", "-V"]).split()
        library = words[words.index("librdkafka") + 1]
        return f"kcat {words[words.index('Version') + 1]} (librdkafka {library})"

    def create(self, bootstrap, topic, partitions):
        """It cannot make a topic; asking a broker about it does, with the broker's own number of partitions."""
        run(["kcat", "-b", bootstrap, "-L", "-t", topic, "-X", "allow.auto.create.topics=true"])

    def produce(self, bootstrap, topic, name, first, count):
        for number in range(first, first + count):
            each = record(name, number)
            headers = [word for key, value in each.headers for word in ("-H", f"{key}={value}")]
            run(["kcat", "-b", bootstrap, "-P", "-t", topic, "-k", each.key, *headers], each.value)

    def member(self, bootstrap, topic, group):
        return ["kcat", "-b", bootstrap, "-u", "-q", "-f", "%p\t%o\t%k\t%s\t%h\n",
                "-X", "auto.offset.reset=earliest", "-G", group, topic]

    def event(self, line):
        return "record", consumed(*line.split("\t"))


def run(command, stdin=""):
    """Runs a command to its end; gives back what it printed."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)[:200]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
