#!/usr/bin/env python3
"""Checks the two phases: phases.py TERRAFORM PACKAGING, run in a copy of terraform/ under
mock_provider.py.

Hosting is applied; scanning with 4 workers only adds; a plan of the same is empty; scanning off
removes only scanning, and neither changes anything of hosting. While everything is applied,
applied.py checks it; PACKAGING is the folder of the programs that the machines run."""
import json
import subprocess
import sys

import applied

HOSTING = ["-var", 'alert_emails=["me@example.com"]']
SCANNING = ["-var", "scanning=true", "-var", "worker_count=4", "-var",
            "ami_id=ami-0123456789abcdef0"]


def terraform(*arguments, reads=False):
    ended = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 2):
        sys.exit(f"terraform {' '.join(arguments)}:\n{ended.stdout}{ended.stderr}")
    return json.loads(ended.stdout) if reads else ended.returncode


def plan(*variables):
    """The changes of a plan by address, and its exit code: 0 no change, 2 some."""
    code = terraform("plan", "-input=false", "-detailed-exitcode", "-out=plan.bin",
                     *HOSTING, *variables)
    shown = terraform("show", "-json", "plan.bin", reads=True)
    changes = {change["address"]: change["change"]["actions"]
               for change in shown.get("resource_changes", []) if change["mode"] == "managed"}
    return code, {address: actions for address, actions in changes.items()
                  if actions not in (["no-op"], ["read"])}


def expect(holds, what, changes):
    if not holds:
        sys.exit(f"phases: {what}, but: {json.dumps(changes, indent=2)}")


def only(changes, action, module):
    return changes and all(actions == [action] and address.startswith(module)
                           for address, actions in changes.items())


def main():
    _, hosting = plan()
    expect(only(hosting, "create", "module.hosting."), "hosting alone is made first", hosting)
    terraform("apply", "-input=false", "plan.bin")

    _, started = plan(*SCANNING)
    expect(only(started, "create", "module.scanning[0]."), "scanning only adds", started)
    terraform("apply", "-input=false", "plan.bin")

    faults = list(applied.faults(terraform("show", "-json", reads=True), sys.argv[2]))
    if faults:
        sys.exit("applied: " + "\napplied: ".join(faults))

    code, again = plan(*SCANNING)
    expect(code == 0 and not again, "the same again changes nothing", again)

    _, more = plan(*SCANNING[:2], "-var", "worker_count=9", *SCANNING[4:])
    expect(list(more) == ["module.scanning[0].aws_autoscaling_group.workers"],
           "more workers change the group alone", more)

    _, ended = plan()
    expect(only(ended, "delete", "module.scanning[0]."), "scanning off removes it alone", ended)
    expect(len(ended) == len(started), "all that was added is removed", ended)
    terraform("apply", "-input=false", "plan.bin")
    code, rest = plan()
    expect(code == 0, "hosting is as it was", rest)
    print(f"phases: hosting {len(hosting)} resources, scanning {len(started)} added and removed, "
          "hosting untouched")


if __name__ == "__main__":
    main()
