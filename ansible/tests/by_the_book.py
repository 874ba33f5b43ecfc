"""Performs the commands in docs/scan.md and docs/crawl.md in the boot test, in the order of a month
and of a crawl service's life.

All blocks in a step are performed together, each command at the place that its block names.
Placeholders for readers, such as a crawl's name, are replaced by this test's values. At the end,
each command must have been performed, or have a reason here.
"""
import json
import os
import shlex
import socket
import sys

from surroundings import run, wait_for

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
NOT_HERE = {
    "make dist": "scripts/infra/boot.sh is given what it makes",
    "packer init": "needs packer's registry; scripts/infra/boot.sh makes the image by the same roles",
    "packer build": "the same",
    'eval "$(terraform -chdir=terraform output -raw console)"': "a shell by Systems Manager",
    'eval "$(terraform -chdir=terraform output -raw find_a_worker)"': "the same",
    "aws ssm start-session": "the same",
    'eval "$(terraform -chdir=terraform output -raw crawl_console)"': "the same",
    'eval "$(terraform -chdir=terraform output -raw api_tunnel)"': "the same",
    "aws rds start-db-instance": "the console of this test runs on",
    "aws rds wait": "the same",
    "aws ec2 start-instances": "the same",
    "aws autoscaling start-instance-refresh": "moto does not know it",
}
# How often an interrupted backup is repeated, because moto accepts few concurrent connections.
GOES = 6


def blocks():
    return json.loads(run(sys.executable, os.path.join(ROOT, "scripts/infra/runbook"), ROOT, "--blocks"))


class Book:
    def __init__(self, laptop, tell):
        self.laptop, self.tell = laptop, tell
        self.blocks, self.performed = blocks(), set()
        # The months set these: the console's machine, strings with their replacements, and
        # additional arguments.
        self.console, self.instead, self.more = None, {}, {}

    def perform(self, heading, step=None, by_hand=False, place=None):
        """Performs the blocks in a step, and those that are done by hand only if `by_hand` is true.
        """
        found = [block for block in self.blocks if (block["heading"], block["step"]) == (heading, step)
                 and (by_hand or not block["by_hand"]) and place in (None, block["place"])]
        if not found:
            raise AssertionError(f"no document has blocks of {heading}, step {step}")
        return [self.one(command, block["place"]) for block in found for command in block["commands"]
                if reason(command) is None]

    def one(self, command, place):
        """Returns a command's output. An exit code other than 0 is an error, for example because
        `restore --verify` reports with its exit code whether the backup is intact."""
        self.performed.add(command)
        text = command + self.more.get(command, "")
        for old, new in self.instead.items():
            text = text.replace(old, new)
        said = in_several_goes(self.laptop.do if place == "laptop" else self.on_console, text)
        lines = said.strip().splitlines()
        self.tell(f"{place}: {text}: {lines[-1].strip()[:300] if lines else 'done'}")
        return said

    def on_console(self, text):
        return self.console.do(*shlex.split(text.removeprefix("sudo ")))

    def left(self):
        return sorted(command for block in self.blocks for command in block["commands"]
                      if command not in self.performed and reason(command) is None)


def reason(command):
    return next((why for begin, why in NOT_HERE.items() if command.startswith(begin)), None)


def in_several_goes(do, text):
    for go in range(GOES):
        try:
            return do(text)
        except RuntimeError as error:
            if go + 1 == GOES or "no connection in time" not in str(error):
                raise
    raise AssertionError("not reached")


def known_name(world, sql):
    """Returns a hostname that the small internet's name server knows, because it does not know
    www.example.com."""
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
