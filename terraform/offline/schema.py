#!/usr/bin/env python3
"""Writes schema.json.gz: the schema of the resource types in *.tf, and the values that the API's
lists allow.

    schema.py PROVIDER_PACKAGE TERRAFORM_FOLDER OUT     (make infra-schema)

PROVIDER_PACKAGE is the unpacked npm package @cdktf/provider-aws. Its JavaScript and .d.ts files
were generated from the provider, so they contain names, types, nesting, and which members are
required. The lists are from botocore's models of the API. The package does not say which attributes
are secret, so their names determine this.
"""
import functools
import glob
import gzip
import json
import os
import re
import sys

import botocore

SIMPLE = {"string": "string", "number": "number", "boolean": "bool", "any": "string",
          "stringList": "string", "numberList": "number", "booleanList": "bool",
          "stringMap": "string", "numberMap": "number", "booleanMap": "bool", "anyMap": "string"}
GETTERS = {"getStringAttribute": "string", "getNumberAttribute": "number",
           "getBooleanAttribute": "bool", "getListAttribute": ["list", "string"],
           "getNumberListAttribute": ["list", "number"],
           "getStringMapAttribute": ["map", "string"], "getNumberMapAttribute": ["map", "number"],
           "getBooleanMapAttribute": ["map", "bool"], "getAnyMapAttribute": ["map", "string"],
           "interpolationForAttribute": ["list", "string"]}
MAPS = {"cdktf.StringMap": ["map", "string"], "cdktf.NumberMap": ["map", "number"],
        "cdktf.BooleanMap": ["map", "bool"], "cdktf.StringMapList": ["list", ["map", "string"]],
        "cdktf.StringListList": ["list", ["list", "string"]]}
SECRET = re.compile(r"(master_)?(user_)?password|secret_string|secret_key|auth_token"
                    r"|private_key(_pem)?|token|access_key")
# All other resource types are EC2's.
SERVICES = {"aws_cloudfront_": "cloudfront", "aws_s3_": "s3", "aws_db_": "rds", "aws_iam_": "iam",
            "aws_autoscaling_": "autoscaling", "aws_budgets_": "budgets",
            "aws_cloudwatch_metric": "cloudwatch", "aws_cloudwatch_log": "logs",
            "aws_cloudwatch_dash": "cloudwatch", "aws_sns_": "sns", "aws_acm_": "acm",
            "aws_route53_": "route53", "aws_secretsmanager_": "secretsmanager",
            "aws_servicequotas_": "service-quotas"}

ENTRY = re.compile(
    r"^( +)\"?([a-z0-9_]+)\"?: \{\n\1    value: (.*),\n\1    isBlock: (?:true|false),\n"
    r"\1    type: \"(\w+)\",\n\1    storageClassType: \"(\w+)\",\n\1\},", re.M)
FUNCTION = re.compile(r"^function (\w+)ToHclTerraform\(struct\) \{\n(.*?)^\}", re.M | re.S)
CLASS = re.compile(r"^class (\w+) extends cdktf\.(\w+) \{\n(.*?)^\}", re.M | re.S)
GETTER = re.compile(r"get \w+\(\) \{\s*return (?:cdktf\.Fn\.\w+\()*"
                    r"this\.(get\w+Attribute|interpolationForAttribute)\('([a-z0-9_]+)'\)")
MEMBER = re.compile(r"this\._\w+ = new (cdktf\.\w+|\w+)\(this, \"([a-z0-9_]+)\"(?:, (true|false))?\)")
INTERFACE = re.compile(r"^export interface (\w+)(?: extends [\w.]+)? \{\n(.*?)^\}", re.M | re.S)
PROPERTY = re.compile(r"^    (?:/\*\*((?:(?!\*/).)*)\*/\n    )?readonly (\w+)(\??): .+?;$",
                      re.M | re.S)
TOP = re.compile(r"^class (\w+) extends cdktf\.(TerraformResource|TerraformDataSource"
                 r"|TerraformProvider) \{\n(.*?)^\}", re.M | re.S)
SYNTHESIS = re.compile(r"synthesizeHclAttributes\(\) \{\n(.*?)^    \}", re.M | re.S)


class Source:
    """A type's generated code."""

    def __init__(self, script, declarations):
        self.functions = {name[0].upper() + name[1:]: body for name, body in FUNCTION.findall(script)}
        self.classes = {name: (base, body) for name, base, body in CLASS.findall(script)}
        self.interfaces = {
            name: {prop: (optional != "?", bool(re.search(r"^\s*\* \w+ block$", doc, re.M)))
                   for doc, prop, optional in PROPERTY.findall(body)}
            for name, body in INTERFACE.findall(declarations)}

    def computed(self, name):
        """Returns a computed nested object's type, by the class that reads it."""
        base, body = self.classes[name]
        if base in ("ComplexList", "ComplexMap"):
            outer = base.removeprefix("Complex").lower()
            return [outer, self.computed(name[:-len(outer)] + "OutputReference")]
        members = {attribute: GETTERS.get(getter, "string")
                   for getter, attribute in GETTER.findall(body)}
        members |= {attribute: self.member(kind, is_set)
                    for kind, attribute, is_set in MEMBER.findall(body)}
        return ["object", members]

    def member(self, kind, is_set):
        found = MAPS.get(kind) or self.computed(kind)
        if is_set == "true" and found[0] == "list":
            found = ["set", *found[1:]]
        return ["list", found] if found[0] == "object" else found

    @staticmethod
    def inner(value):
        names = [name for name in re.findall(r"(\w+)ToHclTerraform", value)
                 if name not in ("string", "number", "boolean", "any")]
        return names[0][0].upper() + names[0][1:] if names else None

    def attribute(self, value, kind, storage):
        inner = self.inner(value)
        if inner:
            members = ["object", {name: self.attribute(v, k, s) for _, name, v, k, s
                                  in ENTRY.findall(self.functions[inner])}]
            return members if kind == "struct" else [kind, members]
        if storage == "stringMapMap":
            return ["map", ["map", "string"]]
        if storage in ("stringListList", "stringMapList"):
            return [kind if storage == "stringMapList" else "list",
                    ["map" if storage == "stringMapList" else "list", "string"]]
        element = SIMPLE.get(storage, "string")
        return element if kind == "simple" else [kind, element]

    def block(self, entries, interface, body):
        attributes, blocks = {}, {}
        properties = self.interfaces.get(interface, {})
        for _, name, value, kind, storage in entries:
            named = re.search(r"(?:this\._|struct\.)(\w+)", value)
            required, is_block = properties.get(named[1], (False, True)) if named else (False, True)
            inner = self.inner(value)
            if inner and is_block:
                blocks[name] = self.nested(inner, value, kind, required)
                continue
            attribute = {"type": self.attribute(value, kind, storage)}
            if SECRET.fullmatch(name):
                attribute["sensitive"] = True
            attribute |= {"required": True} if required else {"optional": True, "computed": True}
            if name.endswith("_wo"):
                attribute["write_only"] = True
                attribute.pop("computed", None)
            attributes[name] = attribute
        for getter, name in GETTER.findall(body):
            if name not in attributes and name not in blocks:
                attributes[name] = {"type": GETTERS.get(getter, "string"), "computed": True}
        for kind, name, is_set in MEMBER.findall(body):
            if name not in attributes and name not in blocks:
                attributes[name] = {"type": self.member(kind, is_set), "computed": True}
        return {"attributes": attributes, "block_types": blocks}

    def nested(self, inner, value, kind, required):
        mode = {"list": "list", "set": "set", "struct": "single", "map": "map"}[kind]
        body = self.classes.get(inner + "OutputReference", ("", ""))[1]
        block = {"nesting_mode": mode,
                 "block": self.block(ENTRY.findall(self.functions[inner]), inner, body)}
        if mode in ("list", "set"):
            if "listMapper" not in value:
                block["max_items"] = 1
            if required:
                block["min_items"] = 1
        return block


@functools.lru_cache(None)
def lists(service):
    """Maps member names, without underscores, to the values that the API's model lists for them. If
    a name usually has free text elsewhere in the model, it is omitted."""
    folder = os.path.join(os.path.dirname(botocore.__file__), "data", service)
    path = sorted(glob.glob(folder + "/*/service-2.json*"))[-1]
    with (gzip.open if path.endswith("gz") else open)(path) as file:
        shapes = json.load(file)["shapes"]
    seen = {}
    for shape in shapes.values():
        for name, member in shape.get("members", {}).items():
            target = shapes[member["shape"]]
            if target["type"] == "list":
                target = shapes[target["member"]["shape"]]
            seen.setdefault(name.lower(), []).append(target.get("enum"))
    return {name: sorted(set().union(*filter(None, found))) for name, found in seen.items()
            if sum(map(bool, found)) * 2 >= len(found)}


def add_lists(kind, block):
    service = next((s for prefix, s in SERVICES.items() if kind.startswith(prefix)), "ec2")
    for name, attribute in block["attributes"].items():
        allowed = lists(service).get(name.replace("_", ""))
        # 1,000 instance types would be most of the file, and new ones appear every week.
        settable = attribute.get("required") or attribute.get("optional")
        if allowed and settable and len(allowed) <= 60 and \
                attribute["type"] in ("string", ["list", "string"], ["set", "string"]):
            attribute["enum"] = allowed
    for nested in block["block_types"].values():
        add_lists(kind, nested["block"])


def read_source(folder):
    def text(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    script, declarations = text(folder + "/index.js"), text(folder + "/index.d.ts")
    parts = folder + "/index-structs"
    for name in sorted(os.listdir(parts)) if os.path.isdir(parts) else []:
        if name.endswith(".js"):
            script += "\n" + text(f"{parts}/{name}").replace("structs0_1.", "")
        elif name.endswith(".d.ts"):
            declarations += "\n" + text(f"{parts}/{name}")
    if os.path.isdir(parts):
        script = re.sub(r"\b(?:index_structs_\d+|structs\d*_\d+|\(0, [\w.]+\.(\w+)\))\.?",
                        lambda found: found[1] or "", script)
    return script, declarations


def main():
    package, terraform, out = sys.argv[1:]
    wanted = set()
    for path in glob.glob(terraform + "/**/*.tf", recursive=True):
        with open(path, encoding="utf-8") as file:
            wanted |= set(re.findall(r'^(resource|data) "(\w+)"', file.read(), re.M))
    found = {"TerraformResource": {}, "TerraformDataSource": {}}
    provider = version = None
    for folder in sorted(glob.glob(package + "/lib/*/")):
        if not os.path.exists(folder + "/index.js"):
            continue
        script, declarations = read_source(folder.rstrip("/"))
        top = TOP.search(script)
        name = re.search(r'\.tfResourceType = "(\w+)"', script)
        if not top or not name:
            continue
        kind = {"TerraformResource": "resource", "TerraformDataSource": "data"}.get(top[2])
        if kind and (kind, name[1]) not in wanted:
            continue
        synthesis = SYNTHESIS.search(top[3])
        block = Source(script, declarations).block(
            ENTRY.findall(synthesis[1]) if synthesis else [], top[1] + "Config", top[3])
        schema = {"version": 0, "block": block}
        if kind:
            add_lists(name[1], block)
            found[top[2]][name[1]] = schema
        else:
            for attribute in block["attributes"].values():
                attribute.pop("computed", None)
            provider = schema
            version = re.search(r"providerVersion: '([\d.]+)'", script)[1]
    missing = wanted - {("resource", n) for n in found["TerraformResource"]} \
        - {("data", n) for n in found["TerraformDataSource"]}
    if missing or provider is None:
        sys.exit(f"schema.py: not in the package: {sorted(missing)}")
    document = {"provider_version": version, "provider_schemas": {"registry.terraform.io/hashicorp/aws": {
        "provider": provider, "resource_schemas": found["TerraformResource"],
        "data_source_schemas": found["TerraformDataSource"]}}}
    with open(out, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(json.dumps(document, separators=(",", ":"), sort_keys=True).encode())
    print(f"{out}: provider {version}, {len(wanted)} types, {os.path.getsize(out) // 1024} KiB")


if __name__ == "__main__":
    main()
