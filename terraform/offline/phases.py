#!/usr/bin/env python3
"""Tests the two phases: phases.py TERRAFORM PACKAGING months|service, run in a copy of terraform/
under mock_provider.py.

Applying scanning after hosting must only add resources, and turning it off must remove only these.
A plan that would destroy the scan without its name, or change its crawl, must be rejected. A second
month does the same in an account that remembers the first. With `service`, a crawl service is
created, exists next to a planned scan and is destroyed. While everything is applied, applied.py,
alarms.py and crawling.py check the state. PACKAGING is the directory with the machines' programs.
"""
import json
import re
import subprocess
import sys

import alarms
import applied
import crawling

MONTHS = ("CC-MAIN-2026-05", "CC-MAIN-2026-09")
HOSTING = ["-var", 'alert_emails=["me@everytab.org"]']


def scanning(crawl, workers=4):
    return ["-var", "scanning=true", "-var", f"worker_count={workers}", "-var", f"crawl={crawl}",
            "-var", "ami_id=ami-0123456789abcdef0", "-var", "contact=bot@everytab.org"]


def teardown(crawl):
    return ["-var", "scanning=false", "-var", f"teardown={crawl}"]


def terraform(*arguments, reads=False):
    ended = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 2):
        sys.exit(f"terraform {' '.join(arguments)}:\n{ended.stdout}{ended.stderr}")
    return json.loads(ended.stdout) if reads else ended.returncode


def plan(*variables):
    """Returns the changes in a plan by address, and the exit code: 0 no change, 2 some."""
    code = terraform("plan", "-input=false", "-detailed-exitcode", "-out=plan.bin",
                     *HOSTING, *variables)
    shown = terraform("show", "-json", "plan.bin", reads=True)
    changes = {change["address"]: change["change"]["actions"]
               for change in shown.get("resource_changes", []) if change["mode"] == "managed"}
    return code, {address: actions for address, actions in changes.items()
                  if actions not in (["no-op"], ["read"])}


def refused(what, words, *variables):
    """Checks that a plan is rejected with these words in the error."""
    ended = subprocess.run([sys.argv[1], "plan", "-input=false", "-no-color", *HOSTING, *variables],
                           capture_output=True, text=True, check=False)
    said = " ".join((ended.stdout + ended.stderr).replace("\u2502", " ").split())
    if ended.returncode != 1 or words not in said:
        sys.exit(f"phases: {what} is planned, or refused for another reason: {said}")


def expect(holds, what, changes):
    if not holds:
        sys.exit(f"phases: {what}, but: {json.dumps(changes, indent=2)}")


# The resources that a machine needs from its first minute to its last. terraform creates and
# destroys in this order, which a resource's values do not show.
NEEDED = {"aws_iam_role_policy.this", "aws_route.internet",
          "aws_route_table_association.public", "aws_vpc_endpoint.s3",
          "aws_vpc_security_group_egress_rule.database",
          "aws_vpc_security_group_ingress_rule.database"}
# Types with so many cores that the account's quota is too small.
LARGER = ["-var", 'instance_types=["c7g.2xlarge", "c8g.2xlarge", "m7g.2xlarge", "m6g.2xlarge"]']


def order(state, phase):
    """Checks that a machine is created after the resources it needs, and a group also after its
    ports."""
    machines = {address: one for address, one in applied.resources(state).items()
                if address.startswith(phase)
                and one["type"] in ("aws_autoscaling_group", "aws_instance")}
    expect(len(machines) > 1, "machines are made", sorted(machines))
    for address, one in machines.items():
        had = {".".join(place.rsplit(".", 2)[-2:]) for place in one.get("depends_on", [])}
        ports = {"aws_vpc_security_group_egress_rule.worker"} if "group" in one["type"] else set()
        missing = (NEEDED | ports) - had
        expect(not missing, f"{address} comes after what it needs", sorted(missing))


def moves(module):
    """Returns the moves that a module declares: each resource's former address."""
    with open(f"modules/{module}/moved.tf.json", encoding="utf-8") as file:
        return {one["to"]: one["from"] for one in json.load(file)["moved"]}


def former(address, before):
    """Returns an instance's former address. Moving a resource moves all of its instances."""
    resource, bracket, key = address.partition("[")
    if address in before:
        return before[address]
    return before[resource] + bracket + key if resource in before else None


def at_former_addresses(state, module, depth):
    """Returns a state with an earlier installation's addresses: before the moves in modules/fleet
    (1), and before this module existed (2)."""
    inner, outer, found = moves("fleet"), moves(module), {}
    here = f"module.{module}[0].module.fleet"
    for one in state["resources"]:
        for instance in one["instances"]:
            key, kept = instance.pop("index_key", None), {**one, "instances": []}
            if one.get("module") == here and one["mode"] == "managed":
                address = f"{one['type']}.{one['name']}" + (
                    "" if key is None else f"[{json.dumps(key)}]")
                address = former(address, inner) or address
                if depth == 2:
                    own = former(f"module.fleet.{address}", outer)
                    expect(own, f"moved.tf.json has {address}", sorted(outer))
                    address, kept["module"] = own, f"module.{module}[0]"
                kept["name"], its_key = re.fullmatch(r"\w+\.(\w+)(?:\[(.*)\])?", address).groups()
                key = None if its_key is None else json.loads(its_key)
            place = (kept.get("module"), one["mode"], one["type"], kept["name"])
            found.setdefault(place, kept)["instances"].append(
                instance if key is None else {**instance, "index_key": key})
    return {**state, "resources": list(found.values())}


def comes_from_before(module, variables):
    """Checks that a plan changes nothing in an earlier installation, whose addresses are in
    moved.tf.json."""
    with open("terraform.tfstate", encoding="utf-8") as file:
        text = file.read()
    for depth in (1, 2):
        state = at_former_addresses(json.loads(text), module, depth)
        with open("terraform.tfstate", "w", encoding="utf-8") as file:
            json.dump(state, file)
        _, changes = plan(*variables)
        expect(not changes, "an installation from before stays as it is", changes)
    with open("terraform.tfstate", "w", encoding="utf-8") as file:
        file.write(text)


def only(changes, action, module):
    return changes and all(actions == [action] and address.startswith(module)
                           for address, actions in changes.items())


def main():
    _, hosting = plan()
    expect(only(hosting, "create", "module.hosting."), "hosting alone is made first", hosting)
    terraform("apply", "-input=false", "plan.bin")

    if sys.argv[3] == "service":
        started = crawl_service()
        print(f"service: hosting {len(hosting)} resources, a crawl service {len(started)} added and "
              "removed, hosting untouched")
        return
    for crawl in MONTHS:
        started = month(crawl)
    print(f"phases: hosting {len(hosting)} resources, scanning {len(started)} added and removed in "
          "each of two months, hosting untouched")


def service(*more, most=4):
    return ["-var", "crawling=true", "-var", f"crawl_workers_max={most}", "-var",
            "crawl_ami_id=ami-0123456789abcdef0", "-var", "contact=bot@everytab.org", *more]


def crawl_service():
    _, started = plan(*service())
    expect(only(started, "create", "module.crawling[0]."), "crawling only adds", started)
    refused("more crawlers than the account has cores for", "take 800 spot cores of 640 (quota "
            "L-34B43A08) and 4 on-demand cores", *service(*LARGER, most=100))
    terraform("apply", "-input=false", "plan.bin")
    state = terraform("show", "-json", reads=True)
    order(state, "module.crawling[0].")
    faults = list(crawling.faults(state, sys.argv[2]))
    if faults:
        sys.exit("crawling: " + "\ncrawling: ".join(faults))

    code, again = plan(*service())
    expect(code == 0 and not again, "the same again changes nothing", again)
    comes_from_before("crawling", service())
    _, more = plan(*service(most=9))
    expect(list(more) == ["module.crawling[0].module.fleet.aws_autoscaling_group.workers"],
           "more crawlers change the group alone", more)
    _, scan = plan(*service(), *scanning("CC-MAIN-2026-05"))
    expect(only(scan, "create", "module.scanning[0]."), "a scan beside it only adds", scan)

    exists = "The crawl service everytab-crawls exists"
    refused("an apply that forgets the crawl service", exists)
    refused("the end of another crawl service", exists, "-var", "teardown_crawls=other-crawls")

    ends = ["-var", "teardown_crawls=everytab-crawls"]
    refused("the end of a protected crawl service", "everytab-crawls is protected", *ends)
    _, free = plan(*service("-var", "crawls_protected=false"))
    expect(len(free) == 2, "taking the protection off changes Postgres and the bucket alone", free)
    terraform("apply", "-input=false", "plan.bin")
    _, gone = plan(*ends)
    expect(only(gone, "delete", "module.crawling[0]."), "crawling off removes it alone", gone)
    expect(len(gone) == len(started), "all that was added is removed", gone)
    terraform("apply", "-input=false", "plan.bin")
    code, rest = plan()
    expect(code == 0, "hosting is as it was", rest)
    return started


def month(crawl):
    _, started = plan(*scanning(crawl))
    expect(only(started, "create", "module.scanning[0]."), "scanning only adds", started)
    terraform("apply", "-input=false", "plan.bin")

    state = terraform("show", "-json", reads=True)
    order(state, "module.scanning[0].")
    faults = list(applied.faults(state, sys.argv[2]))
    if crawl == MONTHS[0]:
        faults += alarms.faults(applied.reader(state), sys.argv[2])
    if faults:
        sys.exit("applied: " + "\napplied: ".join(faults))

    code, again = plan(*scanning(crawl))
    expect(code == 0 and not again, "the same again changes nothing", again)
    if crawl == MONTHS[0]:
        comes_from_before("scanning", scanning(crawl))
        refused("more workers than the account has cores for", "take 1592 spot cores of 640 (quota "
                "L-34B43A08) and 10 on-demand cores", *scanning(crawl, 200), *LARGER)

    _, more = plan(*scanning(crawl, 9))
    expect(list(more) == ["module.scanning[0].module.fleet.aws_autoscaling_group.workers"],
           "more workers change the group alone", more)

    refused("an apply that forgets the scan", f"The scan of {crawl} exists")
    refused("the end of another scan", f"The scan of {crawl} exists", *teardown("CC-MAIN-2025-51"))
    refused("another crawl", f"The scan of {crawl} exists", *scanning("latest"))

    _, ended = plan(*teardown(crawl))
    expect(only(ended, "delete", "module.scanning[0]."), "scanning off removes it alone", ended)
    expect(len(ended) == len(started), "all that was added is removed", ended)
    terraform("apply", "-input=false", "plan.bin")
    code, rest = plan()
    expect(code == 0, "hosting is as it was", rest)
    return started


if __name__ == "__main__":
    main()
