#!/usr/bin/env python3
"""Performs a scan with a console and three workers, as in the cloud. scripts/infra/boot.sh calls
this in separate namespaces.

This follows docs/scan.md and docs/crawl.md for a month: each of their commands is performed, on a
laptop or on the console. terraform applies with a mock provider, and the user data that it creates
boots the machines. The console starts the scan, and the workers wait for it, sign in to Postgres
with tokens, read and write S3 over TLS under AWS's names with credentials from their broker, and
resolve names with their own Unbound. moto responds, behind a gateway that checks each call against
the policies of the caller's role. One worker is stopped and started, one is killed, and one loses
its network and gets a spot notice. The bundles must be the same as from one machine without faults.
The machines that remain until the scan's end must leave the group and terminate. After that, this
performs a retry, exclusions, a takedown, a verified backup, and a teardown. second_month.py and
then crawl_service.py continue. At the end each role must have used each of its rights.
"""
import argparse
import json
import os
import sys

import crawl_service
import second_month
from aws import rights
from by_the_book import Book, known_name
from cloud import Cloud
from laptop import Laptop
from machine import Machine
from scan import FLEET, Scan, group, start
from site_checks import (check_cloud, check_headers, compare, expect, hosts_of, publish_again,
                         published, read_text, reference, say, tabs)
from surroundings import Surroundings, run, wait_for

MONTH = "A month, step by step"
COMPLAINT = "When a site asks to be left alone"
ICONS_TO_RETRY = """select distinct hostname from everytab.icons i
join everytab.pages p using (scan, shard, host_no) where i.outcome = 'http_404_410'
and p.hostname = substring(i.url from '//([^/:]+)') order by hostname"""


METADATA = "http://169.254.169.254/latest/"


def look_at(machine):
    expect(machine.unit("ActiveState", unit="unbound.service")["ActiveState"] == "active", "Unbound")
    # The unit is retried until the broker has credentials.
    wait_for(f"{machine.name}'s token", lambda: machine.ask("ls", "/run/everytab/pgpass").strip())
    pgpass = machine.ask("stat", "-c", "%a %U", "/run/everytab/pgpass").strip()
    expect(pgpass == "600 everytab", f"the token is the worker's alone, not {pgpass}")
    hidden = [("/etc/everytab/broker.env", "everytab"), ("/etc/everytab/worker.env", "everytab-broker"),
              ("/run/everytab-broker/process.env", "everytab"), ("/run/everytab/pgpass", "unbound")]
    if machine.is_console:
        hidden += [("/etc/everytab/scan.env", "everytab"), ("/etc/everytab/scan.env", "everytab-broker"),
                   ("/etc/everytab/worker.env", "everytab-owner")]
    for path, user in hidden:
        machine.do("ls", path)
        expect(machine.as_user(user, "cat", path)[0] != 0, f"{user} cannot read {path}")
    for unit in ("everytab-worker", "everytab-start", "everytab-token", "everytab-counts",
                 "everytab-broker", "everytab-journal"):
        exposed = machine.ask("systemd-analyze", "security", "--no-pager", unit).splitlines()[-1]
        expect("OK" in exposed, exposed)


def fenced(machine):
    """Checks that only the machine's own services reach its role, and that the worker's user has
    the role that the broker provides."""
    token = ("curl", "-sS", "--max-time", "3", "-X", "PUT", "-H",
             "X-aws-ec2-metadata-token-ttl-seconds: 60", METADATA + "api/token")
    for user, reaches in (("everytab", False), ("unbound", False), ("nobody", False),
                          ("everytab-broker", True), ("root", True)):
        code, said = machine.as_user(user, *token)
        expect((code == 0 and said.startswith("token")) == reaches,
               f"{machine.name}: {user} reaches the metadata service: {said!r}, {code}")
    role = "http://127.0.0.1:8471/latest/meta-data/iam/security-credentials/"
    for path, wanted in (("http://127.0.0.1:8471/credentials", "401"), (role, "404")):
        said = machine.as_user("everytab", "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", path)
        expect(said[1] == wanted, f"{machine.name}: {path} without the token: {said}")
    if not machine.is_console:
        key = "/run/credentials/everytab-worker.service/signing-key"
        expect(machine.do("cat", key).strip() == machine.world.signing_key.strip(), "the month's key")
        expect(machine.as_user("unbound", "cat", key)[0] != 0, "unbound cannot read the key")
    environment = machine.do("cat", f"/proc/{machine.unit('MainPID')['MainPID']}/environ")
    expect("AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:8471/" in environment,
           f"{machine.name}: the worker asks the broker")


def stop_and_start(machine):
    """SIGTERM drains the worker, which ends with exit code 4. This is not a failure, and the
    machine remains in its group."""
    machine.do("systemctl", "stop", "everytab-worker.service")
    shown = machine.unit("ExecMainStatus", "Result", "ActiveState")
    expect(shown == {"ExecMainStatus": "4", "Result": "success", "ActiveState": "inactive"},
           f"stopped: {shown}")
    machine.do("systemctl", "start", "everytab-worker.service")
    say(f"{machine.name}: SIGTERM drained the worker (exit code 4), and it was started again")


def kill(machine, scan):
    wait_for(f"a lease of {machine.name}", lambda: scan.holds(machine))
    pid = machine.unit("MainPID")["MainPID"]
    machine.do("systemctl", "kill", "--signal=KILL", "--kill-who=main", "everytab-worker.service")
    wait_for(f"another worker of {machine.name}", lambda: machine.worker_is("active")
             and machine.unit("MainPID")["MainPID"] not in ("0", pid))
    expect(int(machine.unit("NRestarts")["NRestarts"]) >= 1, "systemd counts the restart")
    say(f"{machine.name}: kill -9 in the middle of a job, and systemd started another worker")


def cut_off(machine, scan):
    """Cuts a machine off until other workers have its leases. Then it must continue by itself."""
    wait_for(f"a lease of {machine.name}", lambda: scan.holds(machine))
    machine.cut()
    wait_for(f"{machine.name}'s leases to run out", lambda: not scan.holds(machine))
    machine.mend()
    wait_for(f"{machine.name} to lease again", lambda: scan.holds(machine) or scan.ended("icon"))
    say(f"{machine.name}: cut off until its leases had run out, and back")


def refused(log, began):
    """Returns whether Postgres has rejected a connection since its log had this many bytes."""
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(began)
        return "PAM authentication failed" in file.read()


def new_tokens(world, machines):
    """Makes tokens expire, so that later connections need new ones. No worker may end because of
    this."""
    workers = [machine.unit("MainPID") for machine in machines]
    log = world.database.log
    began = os.path.getsize(log)
    world.set_token_seconds(0)
    for machine in machines:
        machine.do("systemctl", "stop", "everytab-token.timer")
    world.sql("select pg_terminate_backend(pid) from pg_stat_activity "
              "where usename = 'everytab_worker'")
    wait_for("a token that is refused", lambda: refused(log, began))
    world.set_token_seconds(900)
    for machine in machines:
        before = machine.do("cat", "/run/everytab/pgpass")
        machine.do("systemctl", "start", "everytab-token.service")
        expect(machine.do("cat", "/run/everytab/pgpass") != before, "another token")
        machine.do("systemctl", "start", "everytab-token.timer")
    wait_for("workers that signed in again", lambda: world.sql(
        "select 1 from pg_stat_activity where usename = 'everytab_worker' limit 1") == "1")
    expect([machine.unit("MainPID") for machine in machines] == workers, "the same workers go on")
    say("old tokens were refused, and the workers went on with new ones")


def take_away(machine):
    machine.give_notice()
    wait_for(f"{machine.name}'s worker to leave", lambda: machine.worker_is("inactive"))
    expect(machine.unit("ExecMainStatus")["ExecMainStatus"] == "4", "a spot notice drains")
    expect("spot notice" in machine.journal(), "the notice is named")
    say(f"{machine.name}: a spot notice at 169.254.169.254 drained the worker, and it stays away")


def finish(world, scan, machines, gone):
    scan.sql("select coordinator.set_rate(1, null)")
    scan.sql("select coordinator.pause_run(1, 'bundle-shard', false)")
    wait_for("the scan's end", lambda: scan.state() not in ("running", "paused"))
    expect(scan.state() == "finished", f"the scan ended as {scan.state()}")
    for machine in machines:
        wait_for(f"{machine.name}'s end", lambda machine=machine: machine.worker_is("inactive"))
        shown = machine.unit("ExecMainStatus", "Result")
        expect(shown == {"ExecMainStatus": "0", "Result": "success"}, f"{machine.name}: {shown}")
    left = wait_for("the machines to leave", lambda: (lambda found: found if found[
        "DesiredCapacity"] == 1 else None)(group(world)))
    expect([one["InstanceId"] for one in left["Instances"]] == [gone.instance_id],
           "the two that finished left the group, the one that drained did not")
    # In AWS, a machine that has left the group is terminated.
    for machine in [*machines, gone]:
        machine.power_off()
    say("the scan finished; two machines left the group with decrement and are gone, the drained one "
        "had not left it")


def one_more(world):
    """A machine that the group starts by itself."""
    before = {one["InstanceId"] for one in group(world)["Instances"]}
    world.client("autoscaling").set_desired_capacity(
        AutoScalingGroupName=FLEET, DesiredCapacity=len(before) + 1)
    return ({one["InstanceId"] for one in group(world)["Instances"]} - before).pop()


def come_too_late(world, scan):
    expect(scan.state() == "finished", "the scan has ended")
    late = world.add_worker(one_more(world))
    late.start_target()
    wait_for("a machine that comes after the end to leave",
             lambda: late.instance_id not in world.cloud.instances())
    expect(late.unit("ExecMainStatus")["ExecMainStatus"] == "0", "the scan had ended")
    late.power_off()
    say("a machine that came after the end left at once")


def work_again(world, book, scan, theirs):
    """Tests a retry from the console when all workers are gone, a complaint while the retry runs,
    and new machines for it. Returns the hosts that get no more requests."""
    before, icons = set(world.cloud.instances()), scan.ended("icon")
    book.more["sudo everytab-owner scan retry"] = " --outcome http_404_410"
    book.perform(MONTH, 8, place="console")
    expect(scan.state() == "running", "the retry opened the scan")
    asked = set(world.asked_names()) & hosts_of(theirs)
    host = next(name for name in scan.sql(ICONS_TO_RETRY).splitlines() if name in asked)
    book.instead |= {"www.their.site": host, "their.site": host}
    book.perform(COMPLAINT, 1)
    asked = len(world.asked_names())
    book.perform(MONTH, 8, place="laptop")
    world.cloud.follow(book.laptop.state())
    (instance,) = set(world.cloud.instances()) - before
    again = world.add_worker(instance)
    again.start_target()
    wait_for("the retried scan's end", lambda: scan.state() not in ("running", "paused"))
    expect(scan.state() == "finished", f"the retried scan ended as {scan.state()}")
    wait_for("the last worker to leave", lambda: again.worker_is("inactive"))
    expect(int(again.unit("NRestarts")["NRestarts"]) == 0 and scan.ended("icon") >= icons,
           "it worked, and left")
    again.power_off()
    since = world.asked_names()[asked:]
    expect(len(set(since)) > 5, f"others were asked: {since}")
    expect(not [name for name in since if ("." + name).endswith("." + host)], f"{host} was asked again")
    say(f"after a retry on the console another machine worked; it asked for {len(set(since))} names, "
        f"and not for {host}, which was excluded meanwhile")
    return {name for name in hosts_of(theirs) if ("." + name).endswith("." + host)}


def without(world, theirs, hosts):
    """Checks that the site has all tabs of the scan without faults, except these hosts."""
    ours, wanted = tabs(published(world)), tabs(theirs)
    gone = {url for url in wanted if url.split("/")[2] in hosts}
    expect(gone, f"{hosts} had tabs")
    expect(ours == {url: tab for url, tab in wanted.items() if url not in gone}, "other tabs")
    say(f"the site has all {len(ours)} tabs but those of {', '.join(sorted(hosts))}")


def before_the_scan(world, book):
    for step in (2, 5):
        book.perform("Once", step)
        if step == 5:
            world.cloud.follow(book.laptop.state())
    book.perform("Once", 4)
    book.instead["E2QWRUHAPOMQZL"] = world.cloud.distribution
    book.perform("Signed requests")
    with open(os.path.join(book.laptop.folder, "month.pem"), encoding="ascii") as file:
        world.signing_key = file.read()
    book.more["everytab-worker doctor --aws --workers 8"] = " --look-up data.commoncrawl.org"
    book.perform(MONTH, 1)
    book.perform(MONTH, 2)
    book.instead["worker_count=8"] = "worker_count=3"
    book.perform(MONTH, 3)
    world.cloud.follow(book.laptop.state())


def scenario(world, arguments):
    world.start_internet()
    laptop = Laptop(world, arguments.root)
    book = Book(laptop, say)
    world.cloud = Cloud(world)
    before_the_scan(world, book)
    machines = [world.add_worker(instance) for instance in world.cloud.instances()]
    console = book.console = world.add_console()
    scan, (first, second, third) = Scan(world), machines
    start(console, machines, scan)
    for machine in (first, console):
        look_at(machine)
        fenced(machine)
    say("the worker's user cannot reach the metadata service, and works with the broker's credentials")
    silent = console.stay_silent()
    console.do("systemctl", "start", "everytab-counts.service")
    known = known_name(world, scan.sql)
    book.more["sudo everytab-owner doctor"] = " --look-up " + known
    book.instead["www.example.com"] = known
    book.perform(MONTH, 5)
    book.perform(MONTH, 6)
    bad_weather(world.account)
    scan.sql("select coordinator.set_rate(1, 3)")
    scan.sql("select coordinator.pause_run(1, 'warc', false)")
    stop_and_start(first)
    kill(second, scan)
    cut_off(third, scan)
    new_tokens(world, [*machines, console])
    for machine in world.machines:
        machine.do("systemctl", "start", "everytab-journal.service")
    book.perform("Watching it")
    take_away(third)
    finish(world, scan, [first, second], third)
    check_cloud(world, world.cloud.distribution)
    check_headers(world)
    theirs = reference(world, arguments.reference)
    compare(published(world), theirs)
    come_too_late(world, scan)
    excluded = work_again(world, book, scan, theirs)
    without(world, theirs, excluded)
    publish_again(world, lambda: book.perform(MONTH, 9), world.cloud.distribution)
    taken = take_down(world, book, theirs, excluded)
    answer, waits = console.heard(*silent)
    expect(answer == "heard" and waits, f"of the silent connections: {answer!r}, {waits}")
    say(f"a connection on which nothing was said for {console.forgets_after} s and more was kept alive, and "
        "one without keepalives was forgotten")
    gone = excluded | {taken}
    second_month.close(world, book, lambda: gone.add(take_down_everywhere(world, book)))
    second_month.run_through(world, book, gone, arguments)
    crawl_service.run_through(world, book, arguments)
    left = book.left()
    expect(not left, f"commands of the documents that were not performed: {left}")
    say(f"{len(book.performed)} commands of the documents were performed")
    check_rights(world)


def take_down(world, book, theirs, excluded):
    host = min(hosts_of(theirs) - excluded)
    book.instead["www.another.site"] = host
    book.perform(COMPLAINT, 2)
    without(world, theirs, excluded | {host})
    asked = book.instead["www.example.com"]
    said = book.perform(COMPLAINT, 3)[0]
    expect(asked in said, f"what was asked of {asked}: {said}")
    kept = read_text(world, world.buckets[3], "blocklist.txt")
    expect(all(name in kept for name in {host, min(excluded)}), f"the takedown list: {kept}")
    return host


def take_down_everywhere(world, book):
    """Takes a host with a tab down everywhere. No version of an object below the site's scans may
    contain the host, and the backup must have a note about it."""
    host = max(hosts_of(published(world)))
    book.instead["www.their.site"] = host
    expect(versions_with(world, host), f"the site names {host}")
    said = book.perform("Remove it everywhere")[0]
    left = versions_with(world, host)
    expect(not left, f"versions that still name {host}: {left}\n{said}")
    kept = world.buckets[3]
    (note,) = [one["Key"] for one in world.client("s3").list_objects_v2(
        Bucket=kept, Prefix="backups/")["Contents"] if one["Key"].endswith("takedowns.txt")]
    expect(host in read_text(world, kept, note), f"{note} names {host}")
    say(f"{host} was removed from all versions of the site and the archive, and is noted beside the backup")
    return host


def versions_with(world, host):
    s3, bucket = world.client("s3"), world.buckets[1]
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix="scans/")
    bodies = ((one["Key"], one["VersionId"], s3.get_object(
        Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])["Body"].read())
        for page in pages for one in page.get("Versions", []))
    return [(key, version) for key, version, body in bodies if f"//{host}".encode() in body]


def bad_weather(account):
    """Injects faults that AWS has on a bad day: the crawl's bucket throttles requests, and a group
    is busy."""
    account.storm("s3:GetObject", "arn:aws:s3:::commoncrawl/*", 503, "SlowDown", 60)
    account.storm("autoscaling:TerminateInstanceInAutoScalingGroup", "*", 400,
                  "ScalingActivityInProgress", 3)


def check_rights(world):
    """Checks that each role's rights are exactly those that this test's calls needed."""
    world.database.record_sign_ins(world.account.record)
    left = [storm for storm in world.account.storms if storm.left]
    expect(not left, f"weather that nobody met: {left}")
    expect(not world.account.unknown, f"calls of no known action: {world.account.unknown}")
    with open(os.path.join(os.path.dirname(__file__), "rights.json"), encoding="utf-8") as file:
        reasons = json.load(file)
    record = world.account.record
    statements = {name: role.statements for name, role in world.cloud.roles.items()}
    for line in rights.table(statements, record):
        print("    " + line)
    faults = list(rights.faults(statements, record, reasons))
    expect(not faults, "rights:\n" + "\n".join(faults))
    say(f"{len(record)} calls of {len(statements)} roles: no right is missing, and those that were not "
        "used have their reasons")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("root", "work", "target", "reference"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--hosts", type=int, default=900)
    parser.add_argument("--other", help="the program that the second month's image is changed to")
    arguments = parser.parse_args()
    run("mount", "--make-rprivate", "/")
    # Otherwise the names of the machines' networks would remain after the namespaces are gone.
    os.makedirs("/run/netns", exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    world = Surroundings(arguments.work, arguments.target, arguments.hosts)
    account = "123456789012"
    world.buckets = ["commoncrawl", *(f"everytab-{kind}-{account}"
                                      for kind in ("site", "archive", "kept", "logs"))]
    world.pages = f"everytab-crawls-{account}"
    world.machines = []

    def add(kind, instance, image=None):
        applied = world.cloud.applied
        machine = Machine(len(world.machines) + 1, world, image or arguments.root, instance,
                          applied.machine_role(kind))
        world.machines.append(machine)
        machine.join()
        machine.settle(applied.user_data(kind), world.internet)
        machine.boot()
        machine.forget_silence(applied.forgets_after())
        return machine

    world.add = add
    world.add_worker = lambda instance, image=None: add("worker", instance, image)
    world.add_console = lambda image=None: add("console", "i-0123456789abcdef0", image)
    world.make_certificates([*world.buckets, world.pages])
    world.start_aws()
    try:
        scenario(world, arguments)
    except BaseException:
        for machine in world.machines:
            for unit in ("everytab-start", "everytab-token", "everytab-worker", "everytab-counts",
                         "everytab-broker", "everytab-journal", *crawl_service.UNITS):
                said = machine.journal(unit)
                if said.strip("\n") not in ("", "-- No entries --"):
                    print(f"--- {machine.name} {unit}\n{said[-3000:]}", file=sys.stderr)
        raise
    print("boot: 1 passed, 0 failed")


if __name__ == "__main__":
    main()
