#!/usr/bin/env python3
"""A console and three workers do a scan, as in the cloud: called by scripts/infra/boot.sh in namespaces
of its own.

The console starts it, the workers wait for that, sign in to Postgres by token, read and write S3 over
TLS at AWS's names with credentials of their broker, resolve by their own Unbound. moto answers, and a
gateway before it judges each call by the policies of the caller's role. One is stopped and started, one
is killed, one loses its network and gets a spot notice. The bundles must be those of one undisturbed
machine; the machines that end with the scan leave the group and are gone. On the console the scan is
then retried, backed up, verified and swept. In the end each role must have used each of its rights."""
import argparse
import json
import os
import sys

from applied_state import AppliedState
from aws import rights
from by_the_book import by_the_book, known_name
from machine import Machine
from surroundings import OWNER_PASSWORD, Surroundings, run, wait_for

FLEET = "everytab-workers"
LOGS = "/everytab/machines"


def say(text):
    print("boot:", text, flush=True)


def say_all(lines):
    for line in lines:
        say(line)


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def make_cloud(world):
    """The bucket, secret, distribution and group that terraform would have made."""
    s3, cloud = world.client("s3"), {}
    for bucket in world.buckets:
        s3.create_bucket(Bucket=bucket)
    secret = world.client("secretsmanager").create_secret(Name="owner", SecretString=json.dumps(
        {"username": "everytab_owner", "password": OWNER_PASSWORD}))
    cloud["secret"] = secret["ARN"]
    world.signing_key = run("openssl", "genpkey", "-algorithm", "ed25519")
    cloud["signing"] = world.client("secretsmanager").create_secret(
        Name="everytab-signing-key", SecretString=world.signing_key)["ARN"]
    world.client("logs").create_log_group(logGroupName=LOGS)
    origin = {"Id": "site", "DomainName": world.buckets[1] + ".s3.amazonaws.com",
              "S3OriginConfig": {"OriginAccessIdentity": ""}}
    made = world.client("cloudfront").create_distribution(DistributionConfig={
        "CallerReference": "boot", "Comment": "boot", "Enabled": True,
        "Origins": {"Quantity": 1, "Items": [origin]},
        "DefaultCacheBehavior": {"TargetOriginId": "site", "ViewerProtocolPolicy": "https-only"}})
    cloud["distribution"] = made["Distribution"]["Id"]
    ec2, groups = world.client("ec2"), world.client("autoscaling")
    image = ec2.describe_images()["Images"][0]["ImageId"]
    ec2.create_launch_template(LaunchTemplateName=FLEET, LaunchTemplateData={
        "ImageId": image, "InstanceType": "c7g.large"})
    groups.create_auto_scaling_group(
        AutoScalingGroupName=FLEET, MinSize=0, MaxSize=3, DesiredCapacity=3,
        AvailabilityZones=["us-east-1a"], LaunchTemplate={"LaunchTemplateName": FLEET})
    cloud["instances"] = [one["InstanceId"] for one in group(world)["Instances"]]
    return cloud


def group(world):
    found = world.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[FLEET])
    return found["AutoScalingGroups"][0]


class Scan:
    """The scan, as Postgres knows it."""

    def __init__(self, world):
        self.world = world

    def sql(self, statement):
        return self.world.sql(statement, "everytab", quietly=True)

    def state(self):
        return self.sql("select state from everytab.runs order by run desc limit 1")

    def ended(self, kind):
        return int(self.sql(f"select coalesce(sum(done), 0) from everytab.stages "
                            f"where kind = '{kind}'") or 0)

    def holds(self, machine):
        """Whether a worker on the machine has a lease."""
        return self.sql("select 1 from everytab.jobs where state = 'leased' and worker_id like "
                        f"'{machine.name}%' limit 1") == "1"


def start(console, machines, scan):
    for machine in [*machines, console]:
        machine.start_target()
    wait_for("the scan", lambda: scan.state() == "running")
    # Slowly, so that every fault happens before the first bundle is made.
    scan.sql("select coordinator.pause_run(1, 'bundle-shard', true)")
    scan.sql("select coordinator.pause_run(1, 'warc', true)")
    wait_for("the console's start", lambda: console.unit(
        "ActiveState", unit="everytab-start.service")["ActiveState"] == "active")
    for machine in [*machines, console]:
        wait_for(f"{machine.name}'s worker", lambda machine=machine: machine.worker_is("active"))
    expect(scan.sql("select count(*) from everytab.scans") == "1", "the console started one scan")
    say("three workers waited for the schema, and the console started the scan")


METADATA = "http://169.254.169.254/latest/"


def look_at(machine):
    """What must hold of a booted machine besides the worker."""
    expect(machine.unit("ActiveState", unit="unbound.service")["ActiveState"] == "active", "Unbound")
    # The unit tries again until the broker has credentials.
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
    """Only the machine's own services reach its role; the worker's user has what the broker gives."""
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
    """SIGTERM drains: exit code 4, which is no failure; and the machine stays in its group."""
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
    """Until its leases have gone to others; then it is back, by itself."""
    wait_for(f"a lease of {machine.name}", lambda: scan.holds(machine))
    machine.cut()
    wait_for(f"{machine.name}'s leases to run out", lambda: not scan.holds(machine))
    machine.mend()
    wait_for(f"{machine.name} to lease again", lambda: scan.holds(machine) or scan.ended("icon"))
    say(f"{machine.name}: cut off until its leases had run out, and back")


def refused(log, began):
    """Whether Postgres has refused somebody since its log had so many bytes."""
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(began)
        return "PAM authentication failed" in file.read()


def new_tokens(world, machines):
    """Tokens end: connections that are made after that need the new ones. No worker ends of it."""
    workers = [machine.unit("MainPID") for machine in machines]
    log = os.path.join(world.folder, "postgres.log")
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
    # In AWS a machine that has left is gone.
    for machine in [*machines, gone]:
        machine.power_off()
    say("the scan finished; two machines left the group with decrement and are gone, the drained one "
        "had not left it")


def invalidated(world, distribution):
    """The paths of every invalidation that CloudFront was asked for, each sorted."""
    cloudfront = world.client("cloudfront")
    asked = cloudfront.list_invalidations(DistributionId=distribution)["InvalidationList"]
    batches = [cloudfront.get_invalidation(DistributionId=distribution, Id=one["Id"])[
        "Invalidation"]["InvalidationBatch"] for one in asked.get("Items", [])]
    return [sorted(batch["Paths"]["Items"]) for batch in batches]


def short_lived(world):
    """Objects of the site that caches may keep for a minute, so that a new scan changes them."""
    s3, bucket = world.client("s3"), world.buckets[1]
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    return [key for key in keys
            if "immutable" not in s3.head_object(Bucket=bucket, Key=key).get("CacheControl", "")]


def check_cloud(world, distribution):
    asked = invalidated(world, distribution)
    expect(len(asked) == 1, f"the site was invalidated once, not {len(asked)} times")
    missing = {"/", *("/" + key for key in short_lived(world))} - set(asked[0])
    expect(not missing, f"CloudFront may go on showing the old {sorted(missing)}")
    expect(not [path for path in asked[0] if "*" in path or path.startswith("/scans/")],
           f"what never changes is not invalidated: {asked[0]}")
    logs = world.client("logs")
    streams = {one["logStreamName"] for one in logs.describe_log_streams(logGroupName=LOGS)["logStreams"]}
    expect({machine.name for machine in world.machines} == streams, f"a log of each machine: {streams}")
    lines = [one["message"] for name in streams for one in logs.get_log_events(
        logGroupName=LOGS, logStreamName=name, startFromHead=True, limit=10000)["events"]]
    for words in ("everytab-worker.service: ", "everytab-start.service: ", "metrics: everytab_"):
        expect(any(line.startswith(words) for line in lines), f"no line of the logs has {words}")
    say(f"{len(lines)} lines of {len(streams)} machines' journals and metrics are in CloudWatch's logs")
    metrics = {one["MetricName"] for one in world.client("cloudwatch").list_metrics(
        Namespace="EveryTab")["Metrics"]}
    expect(metrics == {"Outstanding", "Discarded", "MinutesSinceProgress", "ScanHours"}, metrics)
    say(f"CloudFront was told to forget {len(asked[0])} paths, CloudWatch has {', '.join(sorted(metrics))}")


def check_headers(world):
    """What browsers and CloudFront are told of each kind of object."""
    s3, bucket = world.client("s3"), world.buckets[1]
    manifest = json.loads(s3.get_object(Bucket=bucket, Key="manifest.json")["Body"].read())
    script = s3.list_objects_v2(Bucket=bucket, Prefix="js/")["Contents"][0]["Key"]
    year = "public, max-age=31536000, immutable"
    minute = "public, max-age=60, must-revalidate"
    for key, kind, keep in (("index.html", "text/html; charset=utf-8", minute),
                            ("manifest.json", "application/json", minute),
                            (script, "text/javascript; charset=utf-8", year),
                            (manifest["prefix"] + "tabs/0.json", "application/json", year)):
        head = s3.head_object(Bucket=bucket, Key=key)
        found = (head["ContentType"], head["CacheControl"])
        expect(found == (kind, keep), f"{key}: {found}")
    say("types and lifetimes of the objects are as they should be")


def publish_again(world, machine, distribution):
    """As a person does it, by docs/operations.md; only what has changed is uploaded."""
    log = os.path.join(world.folder, "moto.log")
    before = os.path.getsize(log)
    machine.owner("publish")
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(before)
        lines = file.read().splitlines()
    # "PUT /manifest.json?x-id=PutObject HTTP/1.1" 200
    put = sorted({line.split('"PUT ')[1].split("?")[0].split(" ")[0] for line in lines
                  if '"PUT /' in line})
    # security.txt says until when it holds.
    expect(put == ["/.well-known/security.txt", "/history.json", "/manifest.json", "/stats.json"],
           f"uploaded again: {put}")
    asked = invalidated(world, distribution)
    expect(len(asked) == 2 and asked[0] == asked[1], f"and the same paths invalidated: {asked}")
    say("publishing again uploaded history, manifest, stats and security.txt, and nothing else")


def published(world):
    """Bundles and search files in the site's bucket, by their name below the scan's prefix."""
    s3, bucket = world.client("s3"), world.buckets[1]
    read = lambda key: s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    manifest = json.loads(read("manifest.json"))
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=manifest["prefix"])
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    parts = (manifest["prefix"] + "tabs/", manifest["prefix"] + "search/")
    return {key.removeprefix(manifest["prefix"]): read(key) for key in keys if key.startswith(parts)}


def reference(world, program):
    """The same from one machine without a fault, by the operators' program: it has `local`."""
    folder = os.path.join(world.work, "reference")
    os.makedirs(folder, mode=0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    run(program, "local", "--sample", "--sample-hosts", world.hosts, "--sample-seed", 1, "--workers",
        1, "--dir", folder, "--exit-when-done", env=clean | {"EVERYTAB_INSTANCE_METADATA": "off"})
    with open(folder + "/site/manifest.json", encoding="utf-8") as file:
        prefix = os.path.join(folder, "site", json.load(file)["prefix"])
    found = {}
    for part in ("tabs", "search"):
        for place, _, files in os.walk(prefix + part):
            for name in files:
                path = os.path.join(place, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, prefix)] = file.read()
    return found


def compare(ours, theirs):
    expect(ours.keys() == theirs.keys(), f"other files: {sorted(ours.keys() ^ theirs.keys())[:5]}")
    other = [name for name in ours if ours[name] != theirs[name]]
    expect(not other, f"other bytes: {other[:5]}")
    say(f"{len(ours)} bundles and search files are those of one undisturbed machine, byte for byte")


def one_more(world):
    """What applying again with another worker_count does: the id of the machine that comes."""
    before = {one["InstanceId"] for one in group(world)["Instances"]}
    world.client("autoscaling").set_desired_capacity(
        AutoScalingGroupName=FLEET, DesiredCapacity=len(before) + 1)
    return ({one["InstanceId"] for one in group(world)["Instances"]} - before).pop()


def work_again(world, console, scan, data):
    """On the console, when all workers are gone: a retry, and a machine that comes for it."""
    expect(scan.state() == "finished", "the scan has ended")
    late = world.add_machine(5, one_more(world), data)
    late.start_target()
    wait_for("a machine that comes after the end to leave", lambda: late.worker_is("inactive")
             and late.unit("ExecMainStatus")["ExecMainStatus"] == "0")
    late.power_off()
    before = scan.ended("icon")
    console.owner("scan", "retry", "--outcome", "http_404_410")
    expect(scan.state() == "running", "the retry opened the scan")
    again = world.add_machine(6, one_more(world), data)
    again.start_target()
    wait_for("the retried scan's end", lambda: scan.state() not in ("running", "paused"))
    expect(scan.state() == "finished", f"the retried scan ended as {scan.state()}")
    wait_for("the last worker to leave", lambda: again.worker_is("inactive"))
    expect(int(again.unit("NRestarts")["NRestarts"]) == 0 and scan.ended("icon") >= before,
           "it worked, and left")
    again.power_off()
    say("a machine that came after the end left at once; after a retry on the console another one worked")


def scenario(world, arguments, state):
    cloud = make_cloud(world)
    world.start_internet()
    world.start_database()
    applied = AppliedState(state, cloud)
    world.account.roles = {role.arn: role for role in applied.roles()}
    data, console_data = applied.user_data()
    roles = applied.machine_roles()

    def add_machine(number, instance, data):
        role = roles["console" if data is console_data else "worker"]
        machine = Machine(number, world, arguments.root, instance, role)
        world.machines.append(machine)
        machine.join()
        machine.settle(data, world.internet)
        machine.boot()
        return machine

    world.add_machine = add_machine
    machines = [add_machine(number, instance, data)
                for number, instance in enumerate(cloud["instances"], 1)]
    console = add_machine(4, "i-00000000000000004", console_data)
    scan, (first, second, third) = Scan(world), machines
    start(console, machines, scan)
    bad_weather(world.account)
    for machine in (first, console):
        look_at(machine)
        fenced(machine)
    say("the worker's user cannot reach the metadata service, and works with the broker's credentials")
    console.do("systemctl", "start", "everytab-counts.service")
    name = known_name(world, scan.sql)
    say_all(by_the_book(console, False, name))
    scan.sql("select coordinator.set_rate(1, 3)")
    scan.sql("select coordinator.pause_run(1, 'warc', false)")
    stop_and_start(first)
    kill(second, scan)
    cut_off(third, scan)
    new_tokens(world, [*machines, console])
    for machine in world.machines:
        machine.do("systemctl", "start", "everytab-journal.service")
    take_away(third)
    finish(world, scan, [first, second], third)
    check_cloud(world, cloud["distribution"])
    check_headers(world)
    publish_again(world, console, cloud["distribution"])
    theirs = reference(world, arguments.reference)
    compare(published(world), theirs)
    work_again(world, console, scan, data)
    compare(published(world), theirs)
    say_all(by_the_book(console, True, name))
    console.power_off()
    check_rights(world)


def bad_weather(account):
    """What AWS answers on a bad day: the crawl's bucket is asked too fast, a group is busy."""
    account.storm("s3:GetObject", "arn:aws:s3:::commoncrawl/*", 503, "SlowDown", 60)
    account.storm("autoscaling:TerminateInstanceInAutoScalingGroup", "*", 400,
                  "ScalingActivityInProgress", 3)


def check_rights(world):
    """The rights of the roles are those that the calls of this test needed."""
    world.record_sign_ins()
    left = [storm for storm in world.account.storms if storm.left]
    expect(not left, f"weather that nobody met: {left}")
    expect(not world.account.unknown, f"calls of no known action: {world.account.unknown}")
    with open(os.path.join(os.path.dirname(__file__), "rights.json"), encoding="utf-8") as file:
        reasons = json.load(file)
    record = world.account.record
    statements = {role.name: role.statements for role in world.account.roles.values()}
    for line in rights.table(statements, record):
        print("    " + line)
    faults = list(rights.faults(statements, record, reasons))
    expect(not faults, "rights:\n" + "\n".join(faults))
    say(f"{len(record)} calls of {len(statements)} roles: no right is missing, and those that were not "
        "used have their reasons")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("root", "work", "target", "state", "reference"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--hosts", type=int, default=900)
    arguments = parser.parse_args()
    run("mount", "--make-rprivate", "/")
    # Else the names of the machines' networks would remain after the namespaces are gone.
    os.makedirs("/run/netns", exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    with open(arguments.state, encoding="utf-8") as file:
        state = json.load(file)
    world = Surroundings(arguments.work, arguments.target, arguments.hosts)
    account = "123456789012"
    world.buckets = ["commoncrawl", *(f"everytab-{kind}-{account}"
                                      for kind in ("site", "archive", "kept"))]
    world.machines = []
    world.make_certificates(world.buckets)
    world.start_aws()
    try:
        scenario(world, arguments, state)
    except BaseException:
        for machine in world.machines:
            for unit in ("everytab-start", "everytab-token", "everytab-worker", "everytab-counts",
                         "everytab-broker", "everytab-journal"):
                print(f"--- {machine.name} {unit}\n{machine.journal(unit)[-3000:]}", file=sys.stderr)
        raise
    print("boot: 1 passed, 0 failed")


if __name__ == "__main__":
    main()
