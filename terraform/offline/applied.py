"""Checks everything that is applied while a scan runs: permissions, open ports, and that a program
writes each alarm's metric. terraform's own tests check one module at a time.
"""
import base64
import json
import os
import re

import yaml

# AWS's metrics for a database or a group that alarms and the dashboard use.
DATABASE_METRICS = {"CPUUtilization", "CPUCreditBalance", "CPUSurplusCreditBalance",
                    "DatabaseConnections", "FreeStorageSpace"}
MACHINE_METRICS = {"CPUUtilization", "NetworkIn", "NetworkOut"}


def resources(state):
    found, modules = {}, [state["values"]["root_module"]]
    while modules:
        module = modules.pop()
        modules += module.get("child_modules", [])
        found |= {one["address"]: one for one in module.get("resources", [])}
    return found


def reader(state):
    """Returns a function that maps a resource type to addresses and values in a state."""
    found = resources(state)

    def of(kind):
        return [(address, one["values"]) for address, one in found.items() if one["type"] == kind]

    return of


def named(address):
    return re.search(r'([\w-]+)(?:\[\d+\])?(?:"\])?$', address)[1].replace("-", "_")


def listed(value):
    return value if isinstance(value, list) else [value]


def bucket_policies(of):
    """Checks that a bucket policy names its services and a condition, and rejects requests without
    TLS."""
    for address, policy in of("aws_s3_bucket_policy"):
        statements = json.loads(policy["policy"])["Statement"]
        denied = [one for one in statements if one["Effect"] == "Deny"]
        if not any(one["Principal"] == "*" and one["Action"] == "s3:*" and one["Condition"] == {
                "Bool": {"aws:SecureTransport": "false"}} for one in denied):
            yield f"{address}: it may be read without TLS"
        for one in statements:
            principal = one["Principal"]
            if one["Effect"] == "Allow" and (
                    not isinstance(principal, dict) or set(principal) != {"Service"}
                    or not one.get("Condition") or "*" in str(one["Action"])):
                yield f"{address}: {one.get('Sid')} lets in more than one service on a condition"


def public_access(of):
    closed = {value["bucket"] for _, value in of("aws_s3_bucket_public_access_block")
              if all(value[name] for name in ("block_public_acls", "block_public_policy",
                                              "ignore_public_acls", "restrict_public_buckets"))}
    for address, bucket in of("aws_s3_bucket"):
        if bucket["id"] not in closed:
            yield f"{address}: nothing keeps it from being made public"


# Allowed outgoing connections: ports for icons, name servers, time servers, Postgres.
WAYS_OUT = {("tcp", 80), ("tcp", 443), ("tcp", 8080), ("tcp", 8443), ("udp", 53), ("tcp", 53),
            ("udp", 123), ("tcp", 5432)}


def doors(of):
    """Checks that only Postgres's port is open, only for the workers' group, and that few outgoing
    ports are allowed."""
    ways = [value for _, value in of("aws_vpc_security_group_ingress_rule")]
    groups = dict(of("aws_security_group"))
    workers = [group["id"] for address, group in groups.items() if address.endswith(".worker")]
    if [(way["from_port"], way["to_port"], way["referenced_security_group_id"])
            for way in ways] != [(5432, 5432, *workers)]:
        yield f"other ways in than workers to Postgres: {ways}"
    out = [value for _, value in of("aws_vpc_security_group_egress_rule")]
    if {(way["ip_protocol"], way["from_port"]) for way in out} != WAYS_OUT or \
            any(way["from_port"] != way["to_port"] for way in out):
        yield f"other ways out than {sorted(WAYS_OUT)}"
    for way in out:
        if way["from_port"] == 5432 and way["cidr_ipv4"] == "0.0.0.0/0":
            yield "Postgres's port leads to the internet"
    for address, rule in of("aws_security_group_rule"):
        yield f"{address}: rules are resources of one direction"
    for address, group in [*groups.items(), *of("aws_default_security_group")]:
        if group.get("ingress") and not str(group["ingress"]).startswith("made-up"):
            yield f"{address}: rules of its own"


# Who may assume a role, and what it may do with each bucket. A machine in the fleet has no
# rights to buckets, because only the role that it passes on has these.
TAKERS = {"worker": "ec2.amazonaws.com", "console": "ec2.amazonaws.com", "scanner": "worker",
          "publisher": "console"}
WRITES = {
    "worker": set(),
    "scanner": {"archive/archive/*", "site/scans/*"},
    "publisher": {"site/*"},
    "console": {"site/*", "archive/*", "kept/blocklist.txt", "kept/backups/*", "kept/.doctor/*"},
}
DELETES = {"console": {"site/*", "archive/*", "kept/.doctor/*", "kept/backups/*/progress/*"}}
# Objects in the scan's own buckets that jobs read.
READS = {"archive/archive/*", "archive/.everytab/*", "site/scans/*", "site/.everytab/*",
         "site/manifest.json"}
FOR_ALL = {"ssm:UpdateInstanceInformation", "cloudwatch:PutMetricData",
           "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
           "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel"}


def in_bucket(resource):
    """Returns a resource as the kind of bucket and the path in it. None if the bucket is not ours.
    """
    found = re.fullmatch(r"arn:aws:s3:::\w+-(site|archive|kept)-\d+/(.*)", resource)
    return f"{found[1]}/{found[2]}" if found else None


def statements(of):
    """Yields each role's name with each statement in its policy."""
    for address, policy in of("aws_iam_role_policy"):
        for one in json.loads(policy["policy"])["Statement"]:
            yield named(address), one


def roles(of):
    for address, role in of("aws_iam_role"):
        name = named(address)
        for one in json.loads(role["assume_role_policy"])["Statement"]:
            taker = TAKERS.get(name, "")
            wanted = [{"Service": taker}] if "." in taker else [
                {"AWS": other["arn"]} for place, other in of("aws_iam_role")
                if named(place) == taker]
            if one["Principal"] not in wanted:
                yield f"{address}: others than {taker} may take it"
    for name, one in statements(of):
        wide = [resource for resource in listed(one["Resource"])
                if resource == "*" or resource.endswith(":*") and ":log-stream:" not in resource]
        if wide and not ("Condition" in one and set(listed(one["Action"])) <= FOR_ALL):
            yield f"{name}: {one['Sid']} is for {wide}"
        if one["Effect"] != "Allow" or any("*" in action for action in listed(one["Action"])):
            yield f"{name}: {one['Sid']} does not name its actions"
        for resource in listed(one["Resource"]):
            for action, allowed in (("s3:PutObject", WRITES), ("s3:DeleteObject", DELETES)):
                if action in listed(one["Action"]) \
                        and in_bucket(resource) not in allowed.get(name, set()):
                    yield f"{name}: {one['Sid']} has {action} on {resource}"
            if "secretsmanager:GetSecretValue" in listed(one["Action"]) and name != "console" \
                    and "signing" not in resource:
                yield f"{name}: {one['Sid']} reads {resource}"
            if name == "worker" and ":s3:::" in resource:
                yield f"{name}: {one['Sid']} gives the machine {resource}"
    for address, attached in of("aws_iam_role_policy_attachment"):
        yield f"{address}: {attached['policy_arn']} is AWS's to change"
    deleted = {in_bucket(resource) for _, one in statements(of) for resource in
               listed(one["Resource"]) if "s3:DeleteObject" in listed(one["Action"])}
    if not {"site/*", "archive/*"} <= deleted:
        yield f"scan gc can sweep only {sorted(filter(None, deleted))}"
    read = {in_bucket(resource) for name, one in statements(of) for resource in
            listed(one["Resource"]) if name == "scanner" and "s3:GetObject" in listed(one["Action"])}
    if not READS <= read:
        yield f"jobs cannot read {sorted(READS - read)}"


# Only the console has the rights to stop Postgres and itself.
STOPPED = {"ec2:StopInstances", "rds:StopDBInstance", "rds:DescribeDBInstances", "sns:Publish"}


def stopping(of):
    """Checks that the console may stop itself and the scan's Postgres and notify the operator, and
    that no role may stop anything else."""
    databases = [value["arn"] for _, value in of("aws_db_instance")]
    topics = [value["arn"] for _, value in of("aws_sns_topic")]
    (console,) = [value["tags"]["Name"] for address, value in of("aws_instance")]
    by_name = {"StringEquals": {"aws:ResourceTag/Name": console}}
    found = set()
    for name, one in statements(of):
        for action in STOPPED & set(listed(one["Action"])):
            found.add(action)
            limited = one.get("Condition") == by_name if action == "ec2:StopInstances" else \
                set(listed(one["Resource"])) <= {*databases, *topics}
            if name != "console" or not limited:
                yield f"{name}: {one['Sid']} stops more than the console and its Postgres"
    if found != STOPPED:
        yield f"the console cannot end a scan's costs: {sorted(STOPPED - found)}"
    for address, text in machines(of):
        for file in settings(text).values():
            if "EVERYTAB_STOP_WHEN" in file and {"EVERYTAB_DATABASE", "EVERYTAB_ALERTS"} - set(file):
                yield f"{address}: it is not told what to stop"


def gateway(of):
    """Checks that the gateway to S3 lets no role write to a bucket that is not ours."""
    for address, endpoint in of("aws_vpc_endpoint"):
        for one in json.loads(endpoint["policy"])["Statement"]:
            reads = {"s3:GetObject", "s3:ListBucket"}
            if not set(listed(one["Action"])) <= reads and not all(
                    re.match(r"arn:aws:s3:::\w+-(site|archive|kept)-\d+", resource)
                    for resource in listed(one["Resource"])):
                yield f"{address}: {one['Sid']} writes elsewhere"


def latest(of):
    """Checks that the console may list the crawl's bucket, both by its role and through the
    gateway. `latest` needs this, because the bucket contains no list of its crawls."""
    lists = lambda one: one["Effect"] == "Allow" and "s3:ListBucket" in listed(one["Action"]) \
        and {"*", "arn:aws:s3:::commoncrawl"} & set(listed(one["Resource"]))
    if not any(name == "console" and lists(one) for name, one in statements(of)):
        yield "the console cannot list s3://commoncrawl: `latest` names no crawl"
    for address, endpoint in of("aws_vpc_endpoint"):
        if not any(lists(one) for one in json.loads(endpoint["policy"])["Statement"]):
            yield f"{address}: no role can list s3://commoncrawl through it"


def settings(text):
    """Returns the environment files in a machine's user data: a map from a file's name to its
    variables."""
    found = {}
    for file in yaml.safe_load(text)["write_files"]:
        pairs = re.findall(r'^(\w+)="(.*)"$', file["content"], re.M)
        found[os.path.basename(file["path"])] = dict(pairs)
    return found


def machines(of):
    for address, template in of("aws_launch_template"):
        yield address, base64.b64decode(template["user_data"]).decode()
    for address, instance in of("aws_instance"):
        yield address, base64.b64decode(instance["user_data_base64"]).decode()


def startup(of):
    """Checks that one machine starts and publishes the scan, and that this machine does not read
    untrusted bytes."""
    starts = [address for address, text in machines(of) if "scan.env" in settings(text)]
    if [named(address) for address in starts] != ["console"]:
        yield f"the console alone starts the scan, but: {starts}"
    for address, text in machines(of):
        kinds = set(settings(text)["worker.env"]["EVERYTAB_ROLE"].split(","))
        if kinds != ({"publish"} if "scan.env" in settings(text)
                     else {"index", "warc", "icons", "bundles"}):
            yield f"{address}: performs {sorted(kinds)}"
        if "EVERYTAB_EXIT_WHEN_DONE" in settings(text)["worker.env"] and "scan.env" in settings(text):
            yield f"{address}: the console leaves with the scan"
        asked = settings(text).get("scan.env", {"EVERYTAB_SITE_URL": "-", "EVERYTAB_CONTACT": "-"})
        for name in ("EVERYTAB_SITE_URL", "EVERYTAB_CONTACT"):
            if not asked.get(name) or ".example" in asked[name]:
                yield f"{address}: it names no contact: no {name}"


def user_data(of):
    for address, text in machines(of):
        for url in re.findall(r"postgres://[^\"\\]*", text):
            if "sslmode=verify-full" not in url or "sslrootcert=" not in url:
                yield f"{address}: {url} does not prove who Postgres is"


def written_metrics(folder):
    """Returns the names of the metrics that our programs write."""
    found = set()
    counts = r"\b([A-Z][A-Za-z]+): \$[a-z]+"
    for program, pattern in (("publish-counts", r'"([A-Z][A-Za-z]+)"\]?(?:: | = )'),
                             ("publish-crawl-counts", counts),
                             ("publish-ready", counts),
                             ("send-journal", r'"\w+": "([A-Z][A-Za-z]+)"')):
        with open(os.path.join(folder, "lib", program), encoding="utf-8") as file:
            found |= set(re.findall(pattern, file.read()))
    return found


def metrics(of, folder, told=None):
    """Checks that a program writes each metric. Otherwise an alarm could never fire, and a chart
    would be empty. `told` is the machines' user data."""
    groups = {value["name"]: set(value["enabled_metrics"])
              for _, value in of("aws_autoscaling_group")}
    databases = {value["identifier"] for _, value in of("aws_db_instance")}
    environment = told if told is not None else "".join(text for _, text in machines(of))

    def is_written(namespace, name, dimensions):
        match namespace:
            case "AWS/AutoScaling":
                return name in groups.get(dimensions.get("AutoScalingGroupName"), set())
            case "AWS/EC2":
                return name in MACHINE_METRICS and dimensions["AutoScalingGroupName"] in groups
            case "AWS/RDS":
                return name in DATABASE_METRICS and dimensions["DBInstanceIdentifier"] in databases
        said = re.search(r'EVERYTAB_NAMESPACE=\\?"([^"\\]+)', environment)
        return said and said[1] == namespace and name in written_metrics(folder) \
            and dimensions.get("Fleet") in groups

    for address, alarm in of("aws_cloudwatch_metric_alarm"):
        asked = [one["metric"][0] for one in alarm.get("metric_query") or [] if one["metric"]]
        for one in asked or [alarm]:
            if not is_written(one["namespace"], one["metric_name"], one["dimensions"]):
                yield f"{address}: no program writes {one['namespace']} {one['metric_name']}"
        if not alarm["alarm_actions"]:
            yield f"{address}: it notifies no one"
    for address, dashboard in of("aws_cloudwatch_dashboard"):
        for widget in json.loads(dashboard["dashboard_body"])["widgets"]:
            before = []
            for metric in widget["properties"]["metrics"]:
                # A dot means the same value as in the previous metric.
                metric = [old if new == "." else new
                          for new, old in zip(metric, before or metric, strict=True)]
                before = metric
                namespace, name, *rest = metric
                if not is_written(namespace, name, dict(zip(rest[::2], rest[1::2], strict=True))):
                    yield f"{address}: no program writes {namespace} {name}"


def money(of):
    """Checks that the budget warns before the limit is reached, and has at least one address."""
    budgets = of("aws_budgets_budget")
    if len(budgets) != 1 or budgets[0][1]["budget_type"] != "COST":
        yield f"one budget of money, not {len(budgets)}"
    for address, budget in budgets:
        told = [float(one["threshold"]) for one in budget["notification"]
                if one["subscriber_email_addresses"]]
        if not any(threshold <= 50 for threshold in told):
            yield f"{address}: no mail is sent at half of it"
        if not any(one["notification_type"] == "FORECASTED" for one in budget["notification"]):
            yield f"{address}: the bill is hours late, and nothing looks ahead"


def brake(of):
    """Checks that a fleet without progress or without counts is stopped."""
    stops = {value["arn"] for _, value in of("aws_autoscaling_policy")
             if value["adjustment_type"] == "ExactCapacity" and value["scaling_adjustment"] == 0}
    braked = [address for address, alarm in of("aws_cloudwatch_metric_alarm")
              if stops & set(alarm["alarm_actions"])]
    if len(braked) != 2:
        yield f"a fleet without progress and one without counts are stopped, but by: {braked}"


def goes(of):
    for address, group in of("aws_autoscaling_group"):
        if group["min_size"] != 0 or group["desired_capacity"] != group["max_size"] \
                or not group["force_delete"]:
            yield f"{address}: other machines than were wanted, or some that stay"
    for address, database in of("aws_db_instance"):
        if database["deletion_protection"] or not database["skip_final_snapshot"]:
            yield f"{address}: it stays when the scan goes"


def watched(of):
    named = {alarm["metric_name"] for _, alarm in of("aws_cloudwatch_metric_alarm")}
    missing = {"FreeStorageSpace", "CPUSurplusCreditBalance", "DatabaseConnections"} - named
    if missing:
        yield f"no alarm for {sorted(missing)}"


def manners(of):
    """Checks Postgres's keepalive settings, because the machines' connection tracking forgets a
    silent connection after 120 s."""
    for address, group in of("aws_db_parameter_group"):
        named = {one["name"]: one["value"] for one in group["parameter"]}
        if not 0 < int(named.get("tcp_keepalives_idle", 0)) < 120:
            yield f"{address}: Postgres lets silent connections be forgotten"


def faults(state, folder):
    of = reader(state)
    for check in (bucket_policies, public_access, doors, roles, gateway, latest, user_data, startup,
                  stopping, money, brake, goes, watched, manners):
        yield from check(of)
    yield from metrics(of, folder)
