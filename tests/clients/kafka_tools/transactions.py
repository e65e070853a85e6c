"""kafka-transactions: list, describe, describe-producers, find-hanging, after Kafka's own transactional copier has run."""

import re

import kafka_tools
from waiting import expect

RECORDS = 50


def check(tools):
    source, target = tools.create(1, "source"), tools.create(1, "target")
    id = f"copier-{target}"
    tools.produce(source, 0, RECORDS)
    tools.run("TransactionalMessageCopier", "--input-topic", source, "--input-partition", "0", "--output-topic", target,
              "--transactional-id", id, "--consumer-group", f"group-{target}", "--transaction-size", "20",
              "--max-messages", str(RECORDS), server="--broker-list")
    copied = tools.run("consumer.ConsoleConsumer", "--topic", target, "--from-beginning", "--max-messages", str(RECORDS),
                       "--timeout-ms", "60000", "--command-property", "isolation.level=read_committed").splitlines()
    expect(len(copied) == RECORDS, f"{len(copied)} of {RECORDS} were copied")
    broker = re.search(r"Leader: (\d+)", tools.run("TopicCommand", "--describe", "--topic", target))[1]
    shown(tools, id, target, broker)


def shown(tools, id, target, broker):
    """`list`, `describe`, `describe-producers` and `find-hanging` agree about a transaction that is complete."""
    command = "TransactionsCommand"
    listed = row(tools.run(command, "list"), "TransactionalId", "TransactionState", TransactionalId=id)
    expect(listed and listed["TransactionState"] == "CompleteCommit", f"list: {listed}")
    described = row(tools.run(command, "describe", "--transactional-id", id), "CoordinatorId", "TransactionalId",
                    TransactionalId=id)
    expect(described and described["ProducerId"] == listed["ProducerId"], f"describe: {described}, list: {listed}")
    expect(described["TransactionState"] == "CompleteCommit" and described["CoordinatorId"] == broker, f"describe: {described}")
    producers = row(tools.run(command, "describe-producers", "--topic", target, "--partition", "0"), "ProducerId",
                    "ProducerEpoch", ProducerId=listed["ProducerId"])
    expect(producers and producers["CurrentTransactionStartOffset"] == "None", f"describe-producers: {producers}")
    hanging = tools.run(command, "find-hanging", "--broker-id", broker)
    expect(not row(hanging, "Topic", "Partition", "ProducerId", Topic=target), f"find-hanging: {hanging}")


def row(text, *columns, **values):
    """The row with these values, of a table with these columns."""
    rows = kafka_tools.table(text, *columns)
    return next((each for each in rows if values.items() <= each.items()), None)
