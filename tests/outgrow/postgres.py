"""A throw-away Postgres with an outbox, and writers who fill it. Needs initdb, postgres and psql."""

import glob
import os
import pwd
import random
import shutil
import subprocess
import threading
import time

from processes import Failed, Program, free_ports, run, wait_for

TABLE = """\
CREATE TABLE outbox (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,
  type varchar(255) NOT NULL, payload jsonb, tracingspancontext text);
"""


def binaries():
    """The folder of initdb: as tests find it, PILLION_POSTGRES_BINARIES, then the newest of Debian's, then the path."""
    named = os.environ.get("PILLION_POSTGRES_BINARIES")
    newest = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4].split(".")[0]))
    on_path = shutil.which("initdb")
    for folder in [named, *reversed(newest), on_path and os.path.dirname(os.path.realpath(on_path))]:
        if folder and os.path.exists(f"{folder}/initdb"):
            return folder
    raise Failed("no initdb found: install PostgreSQL, or name its folder in PILLION_POSTGRES_BINARIES")


class Postgres:
    """A server with its data under `folder`."""

    def __init__(self, folder):
        self.binaries, self.folder = binaries(), folder
        # Postgres does not run as root.
        self.user = None
        if os.geteuid() == 0:
            self.user = next((name for name in ("postgres", "nobody") if is_user(name)), None)
        data = f"{folder}/postgres"
        os.mkdir(data)
        if self.user:
            shutil.chown(data, self.user)
        run([f"{self.binaries}/initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8",
             "--locale=C", "--pgdata", data], user=self.user)
        (self.port,) = free_ports(1)
        command = [f"{self.binaries}/postgres", "-D", data, "-p", str(self.port), "-h", "127.0.0.1",
                   "-c", "unix_socket_directories=", "-c", "wal_level=logical"]
        self.program = Program("postgres", command, f"{folder}/postgres.log", user=self.user)
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        wait_for("postgres to answer", self.answers, 60)
        self.query(TABLE)

    def answers(self):
        self.program.check()
        command = [f"{self.binaries}/psql", "-X", self.url, "-c", "select 1"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def query(self, sql):
        """Rows as lists of texts."""
        output = run([f"{self.binaries}/psql", "-X", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", self.url],
                     text=sql)
        return [line.split("\t") for line in output.splitlines() if line]

    def stop(self):
        self.program.stop()


def is_user(name):
    try:
        pwd.getpwnam(name)
        return True
    except KeyError:
        return False


class Writer(threading.Thread):
    """Inserts events of keys of its own, numbered by key; one transaction in ten is rolled back."""

    def __init__(self, postgres, name, keys, per_second):
        super().__init__(daemon=True)
        self.postgres, self.name_, self.keys, self.per_second = postgres, name, keys, per_second
        self.ending, self.failure, self.transactions = threading.Event(), None, 0
        self.numbers = [0] * keys
        self.chance = random.Random(name)

    def run(self):
        command = [f"{self.postgres.binaries}/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", self.postgres.url]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as psql:
            try:
                started = time.monotonic()
                while not self.ending.is_set():
                    psql.stdin.write(self.transaction())
                    psql.stdin.flush()
                    self.transactions += 1
                    ahead = self.transactions / self.per_second - (time.monotonic() - started)
                    if ahead > 0:
                        time.sleep(ahead)
                psql.stdin.close()
            except OSError as error:
                self.failure = error
        if psql.returncode != 0:
            self.failure = Failed(f"writer {self.name_} ended with {psql.returncode}")

    def transaction(self):
        before = list(self.numbers)
        rows = []
        for _ in range(self.chance.randint(1, 4)):
            key = self.chance.randrange(self.keys)
            self.numbers[key] += 1
            payload = f'{{"number": {self.numbers[key]}, "filler": "{"x" * 300}"}}'
            kind = ("order", "payment")[key % 2]
            rows.append(f"('{kind}', '{self.name_}-{key}', 'Happened', '{payload}')")
        sql = f"INSERT INTO outbox (aggregatetype, aggregateid, type, payload) VALUES {', '.join(rows)};"
        if self.chance.random() < 0.1:
            self.numbers = before
            return f"BEGIN; {sql} ROLLBACK;\n"
        return f"BEGIN; {sql} COMMIT;\n"

    def finish(self):
        self.ending.set()
        self.join(120)
        if self.failure:
            raise Failed(f"writer {self.name_}: {self.failure}")
