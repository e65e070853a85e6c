"""Checks clients against a running broker, a line for each. See run.sh, which builds and starts it:

    check.py BOOTSTRAP NAME<tab>WORD<tab>WORD… …       NAME and the command line of each client program

`kcat` and `kafka-tools` are not programs of ours: the word is their command.
"""

import sys
import time

import kafka_tools
from group_check import GroupCheck
from programs import ConsoleTools, Kcat, Program
from transaction_check import TransactionCheck

# What a program cannot do, or not say.
LACKING = {
    "kafka-go": {"prints_assignment": False, "no_transactions": "its writer has none"},
    "platformatic": {"repeats_headers": False, "aborts_at_once": 1},
}
# Of each language one that chooses a key's partition as Kafka's own client does, so that they can share a topic.
TOGETHER = ("confluent-python", "kafka-clients-4.4", "franz-go", "confluent-javascript")


def made(name, command):
    if name == "kafka-tools":
        return ConsoleTools(command[0])
    return Kcat() if name == "kcat" else Program(command, **LACKING.get(name, {}))


def checks(name, program, bootstrap):
    """What is checked of one program: names, and what to call."""
    yield "group, members join and leave", GroupCheck(bootstrap, [program], [program, program], partitions=4).run
    if name == "kafka-tools":
        for what, check in kafka_tools.CHECKS.items():
            yield what, lambda check=check: check(kafka_tools.Tools(program, bootstrap))
    elif program.no_transactions is None:
        yield "transactions, with offsets", TransactionCheck(bootstrap, program).run


def report(name, version, checks, note=""):
    """Runs a program's checks, prints its line; gives back whether all passed."""
    passed, failed = [], []
    started = time.monotonic()
    for what, check in checks:
        try:
            check()
            passed.append(what)
        except Exception as error:  # a client that fails must not keep the others from being tried
            failed.append(f"{what}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
            print(f"{name}: {what}:\n{error}", file=sys.stderr, flush=True)
    verdict = "fail" if failed else "pass"
    told = "; ".join(failed or passed) + note
    print(f"{verdict}  {name} ({version}), {time.monotonic() - started:.0f} s: {told}", flush=True)
    return not failed


def main():
    bootstrap, *commands = sys.argv[1:]
    programs = {name: made(name, words) for name, *words in (each.split("\t") for each in commands)}
    verdicts = []
    for name, program in programs.items():
        note = f" (no transactions: {program.no_transactions})" if program.is_ours and program.no_transactions else ""
        verdicts.append(report(name, program.version(), checks(name, program, bootstrap), note))
    mixed = {name: programs[name] for name in TOGETHER if name in programs}
    if len(mixed) > 1:
        clients = list(mixed.values())
        check = GroupCheck(bootstrap, clients, clients, partitions=2 * len(clients))
        verdicts.append(report("together", ", ".join(mixed), [("one topic, one group", check.run)]))
    sys.exit(0 if verdicts and all(verdicts) else 1)


if __name__ == "__main__":
    main()
