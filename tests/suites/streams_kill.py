"""Kafka Streams' smoke test with exactly_once_v2, the broker killed −9 in the middle and started again.

    SUITES=path/to/suite tests/suites/streams_kill.py PILLION [KILLS]

The smoke test's driver produces for 90 s while an application counts, sums and joins; then it reads every result topic back
and compares. The broker is killed KILLS times (3 if not said) during these 90 s, and started again at once on the same
directory and port. Exit code 0 if the smoke test still finds every result exactly right.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from broker import Broker
from run import EVERYWHERE, HERE

FIRST_KILL_S = 30
BETWEEN_KILLS_S = 20
TIMEOUT_S = 900


def main():
    suites = os.environ.get("SUITES")
    if not suites or len(sys.argv) < 2:
        raise SystemExit(__doc__)
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    directory = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")).resolve() / "suites" / "streams-kill"
    with Broker(Path(sys.argv[1]).resolve(), directory, "127.0.0.1:0", None, EVERYWHERE) as broker:
        broker.stay_at_address()
        ended = threading.Event()

        def kill():
            wait = FIRST_KILL_S
            for number in range(kills):
                if ended.wait(wait):
                    return
                broker.restart_after_a_kill()
                print(f"broker killed and started again, {number + 1} of {kills}", flush=True)
                wait = BETWEEN_KILLS_S

        killer = threading.Thread(target=kill)
        killer.start()
        command = [suites, "run", "streams", "--bootstrap", broker.address, "--only", "exactly_once_v2",
                   "--timeout", str(TIMEOUT_S)]
        try:
            verdict = subprocess.run(command).returncode
        finally:
            ended.set()
            killer.join()
    sys.exit(verdict)


if __name__ == "__main__":
    main()
