"""Checks everything that is applied while a scan runs: permissions, open ports, and that a program
writes the metric of every alarm. terraform's own tests see one module at a time."""
import base64
import json
import os
import re

# The metrics that AWS writes for a database or a group, as far as alarms and dashboard use them.
DATABASE_METRICS = {"CPUUtilization", "CPUCreditBalance", "DatabaseConnections",
                    "FreeStorageSpace"}
MACHINE_METRICS = {"CPUUtilization", "NetworkIn", "NetworkOut"}


def resources(state):
    """All resources of a terraform state, by address."""
    found, modules = {}, [state["values"]["root_module"]]
    while modules:
        module = modules.pop()
        modules += module.get("child_modules", [])
        found |= {one["address"]: one for one in module.get("resources", [])}
    return found


def listed(value):
    return value if isinstance(value, list) else [value]


def bucket_policies(of):
    """A bucket policy names its services and a condition, and refuses requests without TLS."""
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


def doors(of):
    """The only open port is Postgres's, for the group of the workers."""
    ways = [value for _, value in of("aws_vpc_security_group_ingress_rule")]
    groups = dict(of("aws_security_group"))
    workers = [group["id"] for address, group in groups.items() if address.endswith(".worker")]
    if [(way["from_port"], way["to_port"], way["referenced_security_group_id"])
            for way in ways] != [(5432, 5432, *workers)]:
        yield f"other ways in than workers to Postgres: {ways}"
    for address, rule in of("aws_security_group_rule"):
        yield f"{address}: rules are resources of one direction"
    for address, group in [*groups.items(), *of("aws_default_security_group")]:
        if group.get("ingress") and not str(group["ingress"]).startswith("made-up"):
            yield f"{address}: rules of its own"


def roles(of):
    for address, role in of("aws_iam_role"):
        for one in json.loads(role["assume_role_policy"])["Statement"]:
            if one["Principal"] != {"Service": "ec2.amazonaws.com"}:
                yield f"{address}: others than instances may take it"
    for address, policy in of("aws_iam_role_policy"):
        for one in json.loads(policy["policy"])["Statement"]:
            wide = [resource for resource in listed(one["Resource"])
                    if resource == "*" or resource.endswith(":*")]
            if wide and "Condition" not in one:
                yield f"{address}: {one['Sid']} is for {wide}"
            if one["Effect"] != "Allow" or any("*" in action for action in listed(one["Action"])):
                yield f"{address}: {one['Sid']} does not name its actions"
            for resource in listed(one["Resource"]):
                kept = "-kept-" in resource and "s3:PutObject" in listed(one["Action"])
                if kept and not resource.endswith("/backups/*"):
                    yield f"{address}: {one['Sid']} writes {resource}, which outlives scans"
    for address, attached in of("aws_iam_role_policy_attachment"):
        if not attached["policy_arn"].endswith("/AmazonSSMManagedInstanceCore"):
            yield f"{address}: {attached['policy_arn']}"


def user_data(of):
    for address, template in of("aws_launch_template"):
        text = base64.b64decode(template["user_data"]).decode()
        for url in re.findall(r"postgres://[^\"\\]*", text):
            if "sslmode=verify-full" not in url or "sslrootcert=" not in url:
                yield f"{address}: {url} does not prove who Postgres is"


def written_metrics(folder):
    """The names of the metrics that the program publish-counts writes."""
    with open(os.path.join(folder, "lib/publish-counts"), encoding="utf-8") as file:
        return set(re.findall(r"\b([A-Z][A-Za-z]+): \$[a-z]+", file.read()))


def metrics(of, folder):
    """A metric that no program writes never raises an alarm, and its chart is empty."""
    groups = {value["name"]: set(value["enabled_metrics"])
              for _, value in of("aws_autoscaling_group")}
    databases = {value["identifier"] for _, value in of("aws_db_instance")}
    environment = "".join(base64.b64decode(value["user_data"]).decode()
                          for _, value in of("aws_launch_template"))

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
                # A dot stands for the same field of the previous metric.
                metric = [old if new == "." else new
                          for new, old in zip(metric, before or metric, strict=True)]
                before = metric
                namespace, name, *rest = metric
                if not is_written(namespace, name, dict(zip(rest[::2], rest[1::2], strict=True))):
                    yield f"{address}: no program writes {namespace} {name}"


def money(of):
    """The budget warns before the limit is reached, and has at least one address."""
    budgets = of("aws_budgets_budget")
    if len(budgets) != 1 or budgets[0][1]["budget_type"] != "COST":
        yield f"one budget of money, not {len(budgets)}"
    for address, budget in budgets:
        told = [float(one["threshold"]) for one in budget["notification"]
                if one["subscriber_email_addresses"]]
        if not any(threshold <= 50 for threshold in told):
            yield f"{address}: nobody is told at half of it"


def faults(state, folder):
    """All faults that were found; `folder` holds the programs that the machines run."""
    found = resources(state)

    def of(kind):
        return [(address, one["values"]) for address, one in found.items() if one["type"] == kind]

    for check in (bucket_policies, public_access, doors, roles, user_data, money):
        yield from check(of)
    yield from metrics(of, folder)
