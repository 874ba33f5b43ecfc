"""The console's commands of docs/operations.md, performed in the boot test."""
import os
import shlex
import socket
import sys

from surroundings import run, wait_for

RUNBOOK = os.path.join(os.path.dirname(__file__), "../../scripts/infra/runbook")
# The first command of the runbook that needs a scan's end, and the one that this test has a longer form of.
AFTER_THE_END, RETRY = "everytab-owner publish", "everytab-owner scan retry"


def known_name(world, sql):
    """A hostname that the small internet's name server knows: it has no example.com for `doctor`."""
    wait_for("hostnames", lambda: sql("select 1 from everytab.hosts limit 1"))
    host, port = world.internet["dns"].rsplit(":", 1)
    for name in sql("select distinct hostname from everytab.hosts limit 50").splitlines():
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(2)
            asking.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1", (host, int(port)))
            try:
                answer = asking.recv(512)
            except TimeoutError:
                continue
            if answer[3] & 15 == 0 and answer[7]:
                return name
    raise RuntimeError("no hostname of the small internet has an address")


# A backup that is interrupted goes on where it was, says the runbook. moto takes few connections at
# once, and a busy machine makes it take fewer.
GOES = 6


def in_several_goes(console, words):
    for go in range(GOES):
        try:
            return console.do(*words)
        except RuntimeError as error:
            if go + 1 == GOES or "no connection in time" not in str(error):
                raise
    raise AssertionError("not reached")


def by_the_book(console, has_ended, name):
    """Performs the console's commands of docs/operations.md, of the time before or after the end, and
    yields a line for each. `name` is what `doctor` looks up. A command that ends with another code than
    0 is an error: `restore --verify` says by its code whether the backup is whole."""
    root = os.path.join(os.path.dirname(RUNBOOK), "../..")
    commands = [line.removeprefix("sudo ") for line in
                run(sys.executable, RUNBOOK, root, "--list", "console").splitlines()]
    turn = commands.index(AFTER_THE_END)
    for command in commands[turn:] if has_ended else commands[:turn]:
        if command == RETRY:
            continue
        words = shlex.split(command) + (["--look-up", name] if command.endswith(" doctor") else [])
        said = in_several_goes(console, words).strip().splitlines()
        yield (f"console: {command}: {said[-1].strip() if said else 'done'}")
