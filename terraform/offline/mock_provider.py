#!/usr/bin/env python3
"""A mock Terraform provider: runs a command with the real provider's schema and without a cloud.

    mock_provider.py [--schema FILE] -- terraform validate

It uses plugin protocol 5 on a unix socket. TF_REATTACH_PROVIDERS passes this socket to terraform,
so that no registry is needed and nothing is installed. The provider checks what terraform's core
leaves to providers: attributes that only the provider may set, and values that are not in the API's
lists. It also invents the values that the cloud would compute. Invariant: it accepts only what the
schema contains. The field numbers are from docs/plugin-protocol/tfplugin5 in terraform's source.
"""
import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent import futures

import grpc
import msgpack

HERE = os.path.dirname(os.path.abspath(__file__))
# Availability zones and their IDs, in no particular order. use1-az3 lacks the fleet's instances.
ZONES = {"us-east-1d": "use1-az6", "us-east-1a": "use1-az3", "us-east-1f": "use1-az5",
         "us-east-1c": "use1-az2", "us-east-1b": "use1-az1", "us-east-1e": "use1-az4"}
UNKNOWN = msgpack.ExtType(0, b"\x00")
NESTING = {"single": 1, "list": 2, "set": 3, "map": 4, "group": 5}


def number_bytes(number):
    out = bytearray()
    while True:
        low = number & 127
        number >>= 7
        out.append(low | (128 if number else 0))
        if not number:
            return bytes(out)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return number_bytes(field << 3 | 2) + number_bytes(len(value)) + value


def integer(field, value):
    return number_bytes(field << 3) + number_bytes(int(value)) if value else b""


def parse(message):
    """Returns a message's fields: a map from field number to the list of values."""
    at, fields = 0, {}

    def read_number():
        nonlocal at
        shift = value = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = read_number()
        if key & 7 == 0:
            value = read_number()
        elif key & 7 == 2:
            length = read_number()
            value = message[at:at + length]
            at += length
        else:
            raise ValueError(f"wire type {key & 7}")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def first(fields, number=1):
    return fields.get(number, [b""])[0]


def decode(value):
    fields = parse(value)
    if 1 in fields:
        return msgpack.unpackb(fields[1][0], raw=False, strict_map_key=False)
    return json.loads(fields[2][0]) if 2 in fields else None


def encode(value):
    return text(1, msgpack.packb(value, use_bin_type=True))


def is_unknown(value):
    return isinstance(value, msgpack.ExtType)


def schema_bytes(block):
    out = b""
    for name, attribute in sorted(block.get("attributes", {}).items()):
        out += text(2, text(1, name) + text(2, json.dumps(attribute["type"]))
                    + integer(4, attribute.get("required")) + integer(5, attribute.get("optional"))
                    + integer(6, attribute.get("computed")) + integer(7, attribute.get("sensitive"))
                    + integer(10, attribute.get("write_only")))
    for name, nested in sorted(block.get("block_types", {}).items()):
        out += text(3, text(1, name) + text(2, schema_bytes(nested["block"]))
                    + integer(3, NESTING[nested["nesting_mode"]])
                    + integer(4, nested.get("min_items", 0))
                    + integer(5, nested.get("max_items", 0)))
    return out


def made_up(kind, path):
    name = path[-1]
    if kind == "string":
        if name.endswith("arn"):
            return "arn:aws:made-up:us-east-1:123456789012:" + "/".join(path[:-1])
        return "made-up-" + "-".join(path)
    if kind in ("number", "bool"):
        return 1 if kind == "number" else False
    if kind == "dynamic":
        return None
    outer, inner = kind
    if outer == "object":
        return {key: made_up(of, [*path, key]) for key, of in inner.items()}
    if outer in ("list", "set") and isinstance(inner, list) and inner[0] == "object":
        return [made_up(inner, path)]
    return {} if outer == "map" else []


def fill(block, value, path, planning):
    """Returns a computed value: unknown while planning, invented when applied or read."""
    if not isinstance(value, dict):
        return value
    for name, attribute in block.get("attributes", {}).items():
        has = value.get(name)
        if attribute.get("computed") and (has is None or (not planning and is_unknown(has))):
            if attribute.get("optional") and has is None and attribute["type"] != "string":
                continue
            value[name] = UNKNOWN if planning else made_up(attribute["type"], [*path, name])
        elif not planning and is_unknown(has):
            value[name] = made_up(attribute["type"], [*path, name])
    for name, nested in block.get("block_types", {}).items():
        has = value.get(name)
        if nested["nesting_mode"] == "map":
            has = list((has or {}).values())
        elif isinstance(has, dict):
            has = [has]
        for item in has if isinstance(has, list) else []:
            fill(nested["block"], item, [*path, name], planning)
    return value


# The name or ID that AWS would give a resource, if another resource or a test uses it.
CALLED = {
    "aws_s3_bucket": {"id": "{bucket}", "arn": "arn:aws:s3:::{bucket}"},
    "aws_iam_role": {"id": "{name}", "arn": "arn:aws:iam::123456789012:role/{name}"},
    "aws_security_group": {"id": "sg-{name}"},
    "aws_secretsmanager_secret": {
        "arn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:{name}-AbCdEf"},
    "aws_autoscaling_policy": {
        "arn": "arn:aws:autoscaling:us-east-1:123456789012:scalingPolicy:1:policyName/{name}"},
    "aws_instance": {"id": "i-0123456789abcdef0"},
    "aws_vpc_endpoint": {"cidr_blocks": ["52.216.0.0/15", "3.5.0.0/19"]},
}


def call(kind, value, prior):
    for name, form in CALLED.get(kind, {}).items() if prior is None else ():
        value[name] = form.format(**value) if isinstance(form, str) else form
    return value


def complaint(summary, detail, path):
    steps = b"".join(
        text(1, text(1, step) if isinstance(step, str) else number_bytes(3 << 3) + number_bytes(step))
        for step in path)
    return integer(1, 1) + text(2, summary) + text(3, detail) + text(4, steps)


def complaints(kind, block, value, path):
    if not isinstance(value, dict):
        return
    for name, attribute in block.get("attributes", {}).items():
        has = value.get(name)
        if has is None or is_unknown(has):
            continue
        if attribute.get("computed") and not attribute.get("optional"):
            yield complaint("Value for unconfigurable attribute",
                            f"{kind}.{name} is decided by the provider.", [*path, name])
        allowed = attribute.get("enum")
        for one in (has if isinstance(has, list) else [has]) if allowed else []:
            if isinstance(one, str) and one not in allowed:
                yield complaint("Value not in the API's list", f"{kind}.{name} = {one!r}; the API "
                                f"knows {', '.join(allowed[:12])}.", [*path, name])
    for name, nested in block.get("block_types", {}).items():
        has = value.get(name)
        for index, item in enumerate(has if isinstance(has, list) else [has]):
            place = [index] if nested["nesting_mode"] == "list" else []
            yield from complaints(kind, nested["block"], item, [*path, name, *place])


class Cloud:
    """The resources in the account, whatever a state contains. They exist as long as this process.
    """

    def __init__(self):
        self.databases, self.log_groups = {}, set()

    def answer(self, kind, asked):
        """Returns values for a data source that must be realistic."""
        match kind:
            case "aws_caller_identity":
                return {"account_id": "123456789012", "id": "123456789012"}
            case "aws_availability_zones":
                left_out = asked.get("exclude_zone_ids") or []
                found = {name: zone for name, zone in ZONES.items() if zone not in left_out}
                return {"names": list(found), "zone_ids": list(found.values())}
            case "aws_servicequotas_service_quota":
                return {"value": 640}
            case "aws_ami":
                return {"architecture": os.environ.get("MOCK_AMI_ARCHITECTURE", "arm64")}
            case "aws_db_instances":
                wanted = {value for one in asked.get("filter") or [] for value in one["values"]}
                return {"instance_identifiers": sorted(wanted & self.databases.keys())}
            case "aws_db_instance":
                return {"tags": self.databases[asked["db_instance_identifier"]]}
        return {}

    def change(self, kind, before, after):
        """Returns an error from the API, or None. After its log group was deleted, RDS writes its
        last lines and so creates the group again."""
        match kind:
            case "aws_cloudwatch_log_group" if before is None:
                if after["name"] in self.log_groups:
                    return f"ResourceAlreadyExistsException: the log group {after['name']} exists"
                self.log_groups.add(after["name"])
            case "aws_cloudwatch_log_group" if after is None:
                if not before["name"].startswith("/aws/rds/"):
                    self.log_groups.discard(before["name"])
            case "aws_db_instance" if after is None:
                if before.get("deletion_protection"):
                    return f"InvalidParameterCombination: cannot delete protected {before['identifier']}"
                self.databases.pop(before["identifier"], None)
            case "aws_db_instance":
                self.databases[after["identifier"]] = after.get("tags") or {}
        return None


class StandIn:
    def __init__(self, schemas):
        self.cloud = Cloud()
        self.resources = schemas.get("resource_schemas", {})
        self.data = schemas.get("data_source_schemas", {})
        answer = text(1, self.schema(schemas["provider"]))
        for field, kinds in ((2, self.resources), (3, self.data)):
            for name, schema in kinds.items():
                answer += text(field, text(1, name) + text(2, self.schema(schema)))
        self.schemas = answer + text(6, integer(1, 1) + integer(2, 1))

    @staticmethod
    def schema(schema):
        return integer(1, schema.get("version", 0)) + text(2, schema_bytes(schema["block"]))

    def validate(self, request):
        fields = parse(request)
        kind = first(fields).decode()
        block = self.resources[kind]["block"]
        found = complaints(kind, block, decode(first(fields, 2)), [])
        return b"".join(text(1, one) for one in found)

    def plan(self, request):
        fields = parse(request)
        kind = first(fields).decode()
        prior, proposed = decode(first(fields, 2)), decode(first(fields, 3))
        if proposed is not None and prior is None:
            proposed = fill(self.resources[kind]["block"], proposed, [kind], True)
        return text(1, encode(proposed)) + integer(5, 1)

    def apply(self, request):
        fields = parse(request)
        kind = first(fields).decode()
        prior, planned = decode(first(fields, 2)), decode(first(fields, 3))
        if planned is not None:
            planned = fill(self.resources[kind]["block"], planned, [kind], False)
            planned = call(kind, planned, prior)
        refusal = self.cloud.change(kind, prior, planned)
        if refusal:
            return text(1, encode(prior)) + text(3, complaint("The API refuses", refusal, []))
        return text(1, encode(planned)) + integer(4, 1)

    def read_data(self, request):
        fields = parse(request)
        kind = first(fields).decode()
        asked = decode(first(fields, 2))
        answer = self.cloud.answer(kind, asked)
        state = fill(self.data[kind]["block"], asked, [kind], False)
        return text(1, encode(state | answer))

    def upgrade(self, request):
        raw = parse(first(parse(request), 3))
        return text(1, encode(json.loads(first(raw))))

    def calls(self):
        same = {name: lambda request: b"" for name in
                ("Configure", "Stop", "GetFunctions", "ValidateDataSourceConfig")}
        return same | {
            "GetSchema": lambda request: self.schemas,
            "PrepareProviderConfig": lambda request: text(1, first(parse(request))),
            "ValidateResourceTypeConfig": self.validate,
            "UpgradeResourceState": self.upgrade,
            "ReadResource": lambda request: text(1, first(parse(request), 2)),
            "PlanResourceChange": self.plan,
            "ApplyResourceChange": self.apply,
            "ReadDataSource": self.read_data,
        }


def serve(stand_in, socket):
    def handlers(calls):
        return {name: grpc.unary_unary_rpc_method_handler(
            lambda request, context, call=call: call(request)) for name, call in calls.items()}

    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    server = grpc.server(futures.ThreadPoolExecutor(8), options=options)
    healthy = {"Check": lambda request: integer(1, 1)}
    server.add_generic_rpc_handlers(tuple(
        grpc.method_handlers_generic_handler(name, handlers(calls)) for name, calls in (
            ("tfplugin5.Provider", stand_in.calls()),
            ("plugin.GRPCController", {"Shutdown": lambda request: b""}),
            ("grpc.health.v1.Health", healthy))))
    server.add_insecure_port("unix:" + socket)
    server.start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schema", default=os.path.join(HERE, "schema.json.gz"))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = [word for word in arguments.command if word != "--"]
    with gzip.open(arguments.schema, "rt") as file:
        providers = json.load(file)["provider_schemas"]
    folder = tempfile.mkdtemp()
    servers, attached = [], {}
    for source, schemas in providers.items():
        socket = os.path.join(folder, source.rsplit("/", 1)[1] + ".sock")
        servers.append(serve(StandIn(schemas), socket))
        attached[source] = {
            "Protocol": "grpc", "ProtocolVersion": 5, "Pid": os.getpid(), "Test": True,
            "Addr": {"Network": "unix", "String": socket}}
    environment = dict(os.environ, TF_REATTACH_PROVIDERS=json.dumps(attached),
                       CHECKPOINT_DISABLE="1")
    environment.pop("TF_CLI_CONFIG_FILE", None)
    code = subprocess.run(command, env=environment, check=False).returncode
    shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
