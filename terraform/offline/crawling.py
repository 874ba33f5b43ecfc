"""Checks an applied crawl service: permissions, open ports, alarms, and user data. Each role's
rights are listed here completely, so that an additional or a missing right is a fault.
"""
import base64
import json
import re

import applied

OF_EVERY_MACHINE = {
    ("ssm:UpdateInstanceInformation", "*"), ("ssmmessages:CreateControlChannel", "*"),
    ("ssmmessages:CreateDataChannel", "*"), ("ssmmessages:OpenControlChannel", "*"),
    ("ssmmessages:OpenDataChannel", "*"), ("logs:CreateLogStream", "machines"),
    ("logs:PutLogEvents", "machines"), ("cloudwatch:PutMetricData", "*"),
}
# Each role's rights, with resources as `resource_name` shortens them.
RIGHTS = {
    "crawl_machine": OF_EVERY_MACHINE | {
        ("sts:AssumeRole", "role/crawler"), ("secretsmanager:GetSecretValue", "signing-key")},
    "crawler": {("rds-db:connect", "everytab_worker"), ("s3:ListBucket", "crawls"),
                ("s3:PutObject", "crawls/crawl-data/*"), ("s3:PutObject", "crawls/collinfo.json"),
                ("s3:AbortMultipartUpload", "crawls/crawl-data/*"),
                ("s3:AbortMultipartUpload", "crawls/collinfo.json"),
                ("s3:GetObject", "crawls/crawl-data/*/robotstxt/*"),
                ("s3:GetObject", "crawls/crawl-data/*/warc/*"), ("s3:GetObject", "crawls/collinfo.json")},
    "api_machine": OF_EVERY_MACHINE | {("sts:AssumeRole", "role/api")},
    "api": {("rds-db:connect", "everytab_api"), ("s3:GetObject", "crawls/crawl-data/*")},
    "crawl_console": OF_EVERY_MACHINE | {
        ("secretsmanager:GetSecretValue", "owner"), ("s3:ListBucket", "crawls"),
        ("s3:GetObject", "crawls/*"), ("s3:PutObject", "crawls/*"),
        ("s3:AbortMultipartUpload", "crawls/*"), ("s3:DeleteObject", "crawls/*")},
}
TAKERS = {"crawl_machine": "ec2.amazonaws.com", "api_machine": "ec2.amazonaws.com",
          "crawl_console": "ec2.amazonaws.com", "crawler": "crawl_machine", "api": "api_machine"}
WAYS_OUT = {"crawler": applied.WAYS_OUT, "api": {("tcp", 443), ("tcp", 5432)},
            "crawl-console": {("tcp", 443), ("tcp", 5432)}}
ALARMS = {"due-hosts-high": "DueHostsPerWorker", "no-live-workers": "LiveWorkers",
          "unheld-slots": "UnheldSlots", "api-down": "ApiReady", "database-cpu": "CPUUtilization",
          "database-storage": "FreeStorageSpace", "database-connections": "DatabaseConnections",
          "database-credits": "CPUSurplusCreditBalance"}
# For these alarms, missing data is as bad as the worst value.
NEVER_SILENT = {"no-live-workers", "api-down"}
# The Unix group that may read each file in a role's user data, and the target that it starts.
FILES = {
    "crawl": {"crawl.env": "everytab-crawl", "broker.env": "everytab-broker",
              "crawl-token.env": "everytab-crawl", "group.env": "everytab-broker"},
    "api": {"api.env": "everytab-api", "broker.env": "everytab-broker",
            "api-token.env": "everytab-api", "group.env": "everytab-broker", "api-fence.env": "root"},
    "console": {"crawls.env": "everytab-owner", "group.env": "everytab-broker"},
}
STARTS = {"crawl": ["everytab-crawl.target"], "api": ["everytab-api.target"],
          "console": ["everytab-crawl-console.target"]}


def resource_name(resource):
    """Returns a resource's name in the tables above, or the resource itself if they do not name it.
    """
    forms = (r"arn:aws:rds-db:[\w-]+:\d+:dbuser:[\w-]+/(everytab_\w+)",
             r"arn:aws:iam::\d+:(role/)\w+-(crawler|api)",
             r"arn:aws:secretsmanager:.*-(signing-key)-\w+",
             r"arn:aws:logs:[\w-]+:\d+:log-group:/\w+/(machines):log-stream:\*")
    bucket = re.fullmatch(r"arn:aws:s3:::\w+-crawls-\d+(/.*)?", resource)
    if bucket:
        return "crawls" + (bucket[1] or "")
    for form in forms:
        found = re.fullmatch(form, resource)
        if found:
            return "".join(found.groups())
    return "owner" if "made-up" in resource and "secret" in resource else resource


def roles(of):
    found = {}
    for name, one in applied.statements(of):
        if one["Effect"] != "Allow":
            yield f"{name}: {one['Sid']} does not allow"
        if "*" in applied.listed(one["Resource"]) and not one.get("Condition"):
            yield f"{name}: {one['Sid']} is for everything, without a condition"
        for action in applied.listed(one["Action"]):
            for resource in applied.listed(one["Resource"]):
                found.setdefault(name, set()).add((action, resource_name(resource)))
    for name in sorted(RIGHTS.keys() | found.keys()):
        wanted, has = RIGHTS.get(name, set()), found.get(name, set())
        if wanted != has:
            yield f"{name}: more rights {sorted(has - wanted)}, less {sorted(wanted - has)}"
    machines = {applied.named(address): role["arn"] for address, role in of("aws_iam_role")}
    for address, role in of("aws_iam_role"):
        name = applied.named(address)
        taker = TAKERS.get(name, "")
        wanted = {"Service": taker} if "." in taker else {"AWS": machines.get(taker)}
        for one in json.loads(role["assume_role_policy"])["Statement"]:
            if one["Principal"] != wanted:
                yield f"{address}: others than {taker} may take it"
    for address, attached in of("aws_iam_role_policy_attachment"):
        yield f"{address}: {attached['policy_arn']} is AWS's to change"


def doors(of):
    """Checks that only Postgres's port is open, for the groups of the three kinds of machines."""
    groups = {value["id"]: value["name"].split("-", 1)[1] for _, value in of("aws_security_group")}
    ways = {(way["from_port"], way["to_port"], groups.get(way["referenced_security_group_id"]))
            for _, way in of("aws_vpc_security_group_ingress_rule")}
    if ways != {(5432, 5432, name) for name in WAYS_OUT}:
        yield f"other ways in than the service's machines to Postgres: {ways}"
    out = {}
    for _, way in of("aws_vpc_security_group_egress_rule"):
        out.setdefault(groups.get(way["security_group_id"]), set()).add(
            (way["ip_protocol"], way["from_port"]))
        if way["from_port"] != way["to_port"] or way["from_port"] == 5432 and way["cidr_ipv4"] == "0.0.0.0/0":
            yield f"a wide way out: {way['description']}"
    if out != WAYS_OUT:
        yield f"other ways out than {WAYS_OUT}: {out}"


def machines(of):
    for _, template in of("aws_launch_template"):
        yield "crawl", base64.b64decode(template["user_data"]).decode(), \
            template["network_interfaces"][0]["security_groups"], template["iam_instance_profile"][0]["arn"]
    for address, instance in of("aws_instance"):
        yield re.search(r"aws_instance\.(\w+)", address)[1], \
            base64.b64decode(instance["user_data_base64"]).decode(), instance["vpc_security_group_ids"], \
            instance["iam_instance_profile"]


def user_data(of):
    seen = set()
    for role, text, _, _ in machines(of):
        seen.add(role)
        told = applied.yaml.safe_load(text)
        files = {file["path"].rsplit("/", 1)[1]: file["owner"].removeprefix("root:")
                 for file in told["write_files"]}
        if files != FILES[role]:
            yield f"{role}: files {files}"
        if [command[-1] for command in told["runcmd"]] != STARTS[role]:
            yield f"{role}: starts {told['runcmd']}"
        if any(file["permissions"] != "0640" for file in told["write_files"]):
            yield f"{role}: files that anybody may read"
        yield from settings(role, applied.settings(text), text)
    if seen != set(FILES):
        yield f"machines of the roles {sorted(seen)}"


def settings(role, files, text):
    signs_in = {"crawl": "everytab_worker", "api": "everytab_api", "console": "everytab_owner"}
    for url in re.findall(r'DATABASE_URL=\\?"([^"\\]*)', text):
        if "sslmode=verify-full" not in url or "sslrootcert=" not in url:
            yield f"{role}: {url} does not prove who Postgres is"
        if f"//{signs_in[role]}@" not in url:
            yield f"{role}: signs in by {url}"
    # The service shows it to clients, and the console's doctor checks it.
    agent = {"crawl": "crawl.env", "api": "api.env", "console": "crawls.env"}[role]
    if not re.fullmatch(r"EveryTabBot/1\.0 \(\+https://.*/bot\.html; \S+@\S+\)",
                                  files[agent].get("EVERYTAB_USER_AGENT", "")):
        yield f"{role}: it names no contact: {files[agent].get('EVERYTAB_USER_AGENT')}"
    if role == "api":
        fence = files.get("api-fence.env", {})
        ranges = " ".join(fence.values()).split()
        if "52.216.0.0/15" not in ranges or any(int(one.rsplit("/", 1)[1]) < 8 for one in ranges):
            yield f"api: its fence lets through {ranges}"
        if not files["group.env"]["EVERYTAB_API_LISTEN"].startswith("127.0.0.1:"):
            yield "api: it does not listen on loopback"


def watched(of):
    """Checks that each alarm exists, uses its metric and notifies the operator."""
    found = {}
    for address, alarm in of("aws_cloudwatch_metric_alarm"):
        key = re.search(r'\["(.*)"\]$', address)[1]
        found[key] = alarm["metric_name"]
        if not alarm["alarm_actions"]:
            yield f"{address}: it notifies no one"
        if key in NEVER_SILENT and alarm["treat_missing_data"] != "breaching":
            yield f"{address}: silence is no alarm"
        low = alarm["comparison_operator"] == "LessThanThreshold"
        if low != (found[key] in {"LiveWorkers", "ApiReady", "FreeStorageSpace"}):
            yield f"{address}: it is an alarm the wrong way round"
    missing = {key for key, metric in ALARMS.items() if found.get(key) != metric}
    if missing:
        yield f"no alarm {sorted(missing)}"


def follows(of):
    """Checks that the group's size follows the due hosts in both directions, within its bounds."""
    policies = of("aws_autoscaling_policy")
    if len(policies) != 1:
        yield f"{len(policies)} policies of the group's size"
        return
    (_, policy), = policies
    tracked = policy["target_tracking_configuration"][0]
    metric = tracked["customized_metric_specification"][0]
    (_, group), = of("aws_autoscaling_group")
    dimensions = {one["name"]: one["value"] for one in metric["metric_dimension"]}
    if policy["policy_type"] != "TargetTrackingScaling" or tracked["disable_scale_in"] \
            or metric["metric_name"] != "DueHostsPerWorker" or dimensions != {"Fleet": group["name"]}:
        yield "the group does not grow and shrink by DueHostsPerWorker"
    if not 120 <= (policy["estimated_instance_warmup"] or 0) <= 900 \
            or group["default_instance_warmup"] != policy["estimated_instance_warmup"]:
        yield "a machine counts before it works, or much later"
    if group["desired_capacity"]:
        yield "an apply sets the group's size"


def kept(of):
    """Checks that Postgres is backed up and protected, and that destroying the bucket does not
    empty it."""
    for address, database in of("aws_db_instance"):
        if database["backup_retention_period"] < 7 or database["delete_automated_backups"] \
                or not database["deletion_protection"]:
            yield f"{address}: it may be lost"
        if database["publicly_accessible"] or not database["storage_encrypted"] \
                or not database["iam_database_authentication_enabled"] \
                or not database["manage_master_user_password"]:
            yield f"{address}: open"
    for address, bucket in of("aws_s3_bucket"):
        if bucket["force_destroy"]:
            yield f"{address}: it goes with what was captured"


def gateway(of):
    for address, endpoint in of("aws_vpc_endpoint"):
        for one in json.loads(endpoint["policy"])["Statement"]:
            reads = set(applied.listed(one["Action"])) <= {"s3:GetObject", "s3:ListBucket"}
            if not reads and [resource_name(r) for r in applied.listed(one["Resource"])] != ["crawls/*"]:
                yield f"{address}: {one['Sid']} writes elsewhere"


def faults(state, folder):
    found = {address: one for address, one in applied.resources(state).items()
             if address.startswith("module.crawling[0].")}

    def of(kind):
        return [(address, one["values"]) for address, one in found.items() if one["type"] == kind]

    for check in (applied.bucket_policies, applied.public_access, roles, doors, user_data, watched,
                  follows, kept, gateway, applied.manners):
        yield from check(of)
    yield from applied.metrics(of, folder, "\n".join(text for _, text, _, _ in machines(of)))
