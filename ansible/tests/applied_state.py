"""The state that terraform has applied with the mock provider, with the values that AWS would have
computed: the machines' user data, and their roles.
"""
import base64
import json

import yaml

from aws import calls, gateway
from database import RESOURCE_ID
from surroundings import DATABASE, GATEWAY, STORE

SITE = "d111111abcdef8.cloudfront.net"
# The resource that contains a machine's user data, and its role, by kind of machine.
KINDS = {
    "worker": ("aws_launch_template.worker", "worker"),
    "console": ("aws_instance.console", "console"),
    "crawler": ("aws_launch_template.worker", "crawl-machine"),
    "api": ("aws_instance.api", "api-machine"),
    "crawl_console": ("aws_instance.console", "crawl-console"),
}


class AppliedState:
    def __init__(self, state):
        """`state` is what `terraform show -json` prints."""
        self.made, modules = {}, [state["values"]["root_module"]]
        while modules:
            module = modules.pop()
            modules += module.get("child_modules", [])
            self.made |= {one["address"]: one["values"] for one in module.get("resources", [])
                          if one["mode"] == "managed"}
        self.computed = {}
        for bucket in self.each("aws_s3_bucket"):
            self.computed[bucket["arn"]] = f"arn:aws:s3:::{bucket['bucket']}"
        for role in self.each("aws_iam_role"):
            self.computed[role["arn"]] = f"arn:aws:iam::{calls.ACCOUNT}:role/{role['name']}"

    def became(self, signing, distribution, secret):
        """Replaces the mock provider's values by the real secrets' ARNs and the distribution's ID.
        """
        site = self.one("aws_cloudfront_distribution.site")
        self.computed |= {self.one("aws_secretsmanager_secret.signing")["arn"]: signing,
                          site["id"]: distribution, site["domain_name"]: SITE}
        for database in self.each("aws_db_instance"):
            self.computed |= {database["address"]: DATABASE, database["resource_id"]: RESOURCE_ID,
                              database["master_user_secret"][0]["secret_arn"]: secret}
        # Addresses that the HTTP service's fence allows.
        self.computed |= {network["cidr_block"]: GATEWAY + "/32" for network in self.each("aws_vpc")}
        self.computed |= {" ".join(way["cidr_blocks"]): STORE + "/32"
                          for way in self.each("aws_vpc_endpoint")}

    def each(self, kind):
        return [values for address, values in self.made.items()
                if f".{kind}." in "." + address]

    def only(self, kind):
        (values,) = self.each(kind)
        return values

    def one(self, name):
        found = [values for address, values in self.made.items()
                 if ("." + address).removesuffix("[0]").endswith("." + name)]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} resources are called {name}")
        return found[0]

    def real(self, text):
        for computed, real in self.computed.items():
            text = text.replace(computed, real)
        return text

    def statements(self, policy):
        return json.loads(self.real(policy))["Statement"]

    def user_data(self, kind):
        made = self.one(KINDS[kind][0])
        text = made.get("user_data_base64") or made["user_data"]
        return yaml.safe_load(self.real(base64.b64decode(text).decode()))

    def forgets_after(self):
        """Returns after how many seconds a machine's network forgets a silent connection."""
        card = self.only("aws_launch_template")["network_interfaces"][0]
        return card["connection_tracking_specification"][0]["tcp_established_timeout"]

    def keepalives(self):
        parameters = self.only("aws_db_parameter_group")["parameter"]
        return {one["name"]: one["value"] for one in parameters
                if one["name"].startswith("tcp_keepalives_")}

    def roles(self):
        endpoint = self.statements(self.only("aws_vpc_endpoint")["policy"])
        for role in self.each("aws_iam_role"):
            # In AWS a role's ID is its name. The mock provider computes a different ID.
            names = (role["id"], role["name"])
            found = [one for policy in self.each("aws_iam_role_policy") if policy["role"] in names
                     for one in self.statements(policy["policy"])]
            yield gateway.Role(role["name"], found, self.statements(role["assume_role_policy"]), endpoint)

    def machine_role(self, kind):
        name = self.one(f'aws_iam_instance_profile.machine["{KINDS[kind][1]}"]')["role"]
        return {role.name: role for role in self.roles()}[name]
