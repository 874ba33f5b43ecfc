#!/usr/bin/env python3
"""Checks the two phases: phases.py TERRAFORM PACKAGING months|service, run in a copy of terraform/ under
mock_provider.py.

Hosting is applied; scanning with 4 workers only adds; a plan of the same is empty; a plan that would
destroy the scan without its name, or change its crawl, is refused; scanning off removes only scanning,
and neither changes anything of hosting. Then a second month does the same once more, in an account
that remembers the first. With `service` instead of `months` a crawl service comes, lives beside a planned
scan and goes, and changes nothing of hosting; it is not destroyed by accident. While everything is applied, applied.py, alarms.py and crawling.py
check it; PACKAGING is the folder of the programs that the machines run."""
import json
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
    """The changes of a plan by address, and its exit code: 0 no change, 2 some."""
    code = terraform("plan", "-input=false", "-detailed-exitcode", "-out=plan.bin",
                     *HOSTING, *variables)
    shown = terraform("show", "-json", "plan.bin", reads=True)
    changes = {change["address"]: change["change"]["actions"]
               for change in shown.get("resource_changes", []) if change["mode"] == "managed"}
    return code, {address: actions for address, actions in changes.items()
                  if actions not in (["no-op"], ["read"])}


def refused(what, words, *variables):
    """A plan that must not be made, and the words of its error."""
    ended = subprocess.run([sys.argv[1], "plan", "-input=false", "-no-color", *HOSTING, *variables],
                           capture_output=True, text=True, check=False)
    said = " ".join((ended.stdout + ended.stderr).replace("\u2502", " ").split())
    if ended.returncode != 1 or words not in said:
        sys.exit(f"phases: {what} is planned, or refused for another reason: {said}")


def expect(holds, what, changes):
    if not holds:
        sys.exit(f"phases: {what}, but: {json.dumps(changes, indent=2)}")


# What a machine of ours needs from its first minute to its last; terraform makes and destroys in this
# order, and nothing of a resource's values shows it.
NEEDED = {"aws_route.internet", "aws_route_table_association.public", "aws_vpc_endpoint.s3",
          "aws_vpc_security_group_egress_rule.worker",
          "aws_vpc_security_group_egress_rule.database",
          "aws_vpc_security_group_ingress_rule.database"}
NEEDED_TO_CRAWL = {"aws_route.crawls", "aws_route_table_association.crawls",
                   "aws_vpc_endpoint.crawls", "aws_vpc_security_group_egress_rule.database",
                   "aws_vpc_security_group_ingress_rule.database"}


def order(name, needed):
    shown = terraform("show", "-json", "plan.bin", reads=True)
    module = shown["configuration"]["root_module"]["module_calls"][name]["module"]
    for one in module["resources"]:
        if one["type"] in ("aws_autoscaling_group", "aws_instance"):
            missing = needed - set(one.get("depends_on", []))
            expect(not missing, f"{one['address']} comes after what it needs", sorted(missing))


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
    """The life of a crawl service."""
    _, started = plan(*service())
    expect(only(started, "create", "module.crawling[0]."), "crawling only adds", started)
    order("crawling", NEEDED_TO_CRAWL)
    terraform("apply", "-input=false", "plan.bin")
    faults = list(crawling.faults(terraform("show", "-json", reads=True), sys.argv[2]))
    if faults:
        sys.exit("crawling: " + "\ncrawling: ".join(faults))

    code, again = plan(*service())
    expect(code == 0 and not again, "the same again changes nothing", again)
    _, more = plan(*service(most=9))
    expect(list(more) == ["module.crawling[0].aws_autoscaling_group.crawlers"],
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
    order("scanning", NEEDED)
    terraform("apply", "-input=false", "plan.bin")

    state = terraform("show", "-json", reads=True)
    faults = list(applied.faults(state, sys.argv[2]))
    if crawl == MONTHS[0]:
        faults += alarms.faults(applied.reader(state), sys.argv[2])
    if faults:
        sys.exit("applied: " + "\napplied: ".join(faults))

    code, again = plan(*scanning(crawl))
    expect(code == 0 and not again, "the same again changes nothing", again)

    _, more = plan(*scanning(crawl, 9))
    expect(list(more) == ["module.scanning[0].aws_autoscaling_group.workers"],
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
