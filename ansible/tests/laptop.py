"""The operator's laptop in the boot test: a shell with the AWS CLI and the operators' program from
the image, and terraform with a mock provider that remembers the resources that it has created.
"""
import json
import os
import shutil
import subprocess
import sys

from by_the_book import ROOT
from surroundings import GATEWAY, run

IN_THE_IMAGE = """#!/bin/sh
exec chroot "{root}" /usr/bin/env -C /laptop AWS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt \\
    PATH=/usr/lib/everytab/operator:/usr/bin:/bin {program} "$@"
"""
# Files that an operator's work leaves in a clone. The laptop's copy must not contain them.
OF_AN_OPERATOR = (".terraform*", "backend.tf", "*.tfstate*", "*.tfvars", "plan.bin")


class Laptop:
    def __init__(self, world, image):
        self.world, base = world, os.path.join(world.work, "laptop")
        self.folder, self.root = os.path.join(base, "home"), os.path.join(base, "root")
        for part in ("home", "bin", "root", "upper", "overlay"):
            os.makedirs(os.path.join(base, part))
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir={image},upperdir={base}/upper,workdir={base}/overlay", self.root)
        os.makedirs(self.root + "/laptop")
        for what, where in ((self.folder, "/laptop"), ("/dev", "/dev"), ("/proc", "/proc")):
            run("mount", "--bind", what, self.root + where)
        with open(world.authority, encoding="ascii") as file:
            authority = file.read()
        with open(self.root + "/etc/ssl/certs/ca-certificates.crt", "a", encoding="ascii") as file:
            file.write(authority)
        with open(self.root + "/etc/hosts", "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n" + world.addresses())
        with open(self.root + "/etc/resolv.conf", "w", encoding="ascii") as file:
            file.write(f"nameserver {GATEWAY}\n")
        for program in ("aws", "everytab-worker"):
            path = os.path.join(base, "bin", program)
            with open(path, "w", encoding="ascii") as file:
                file.write(IN_THE_IMAGE.format(root=self.root, program=program))
            os.chmod(path, 0o755)
        shutil.copytree(os.path.join(ROOT, "telemetry"), os.path.join(self.folder, "telemetry"))
        shutil.copytree(os.path.join(ROOT, "terraform"), os.path.join(self.folder, "terraform"),
                        ignore=shutil.ignore_patterns(*OF_AN_OPERATOR))
        # The runbook says: "Put permanent variables into terraform.tfvars".
        with open(os.path.join(self.folder, "terraform", "terraform.tfvars"), "w", encoding="ascii") as file:
            file.write('alert_emails = ["me@everytab.org"]\n')
        self.environment = dict(
            os.environ, PATH=os.path.join(base, "bin") + ":" + os.environ["PATH"],
            TF_REATTACH_PROVIDERS=self.start_provider(), CHECKPOINT_DISABLE="1", NO_COLOR="1",
            TF_CLI_ARGS="-no-color",
            # The small internet's name server returns loopback addresses for all names,
            # including those that `doctor` resolves.
            EVERYTAB_ALLOW_RANGE="127.0.0.0/8,::1/128")

    def start_provider(self):
        """Starts one provider process for all applies, because its cloud remembers databases and
        log groups."""
        process = self.world.start(
            "provider", sys.executable, os.path.join(self.folder, "terraform/offline/mock_provider.py"),
            "--", "sh", "-c", 'echo "$TF_REATTACH_PROVIDERS"; exec sleep infinity',
            stdout=subprocess.PIPE)
        return process.stdout.readline().decode().strip()

    def do(self, text):
        """Runs a shell line and returns its output. Every question is answered with yes."""
        return run("sh", "-c", text, env=self.environment, cwd=self.folder, input="yes\n")

    def state(self):
        return json.loads(self.do("terraform -chdir=terraform show -json"))
