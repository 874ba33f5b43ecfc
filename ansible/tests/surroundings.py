"""The environment for the boot test's machines in its network namespace: a bridge, a Postgres with
a certificate and tokens like RDS's, AWS under its names (aws/gateway.py in front of moto), and the
small internet.
"""
import gzip
import json
import os
import re
import subprocess
import time

from aws import gateway
from database import Database

# A documentation range, because the machines' resolver does not query name servers with private
# addresses.
NETWORK = "203.0.113"
GATEWAY = NETWORK + ".1"
# S3's address. A crawl service's HTTP service can reach only this part of AWS.
STORE = NETWORK + ".2"
DATABASE = "db.everytab.zz"
SERVICES = ["autoscaling", "cloudwatch", "monitoring", "ec2", "logs", "secretsmanager",
            "servicequotas", "s3", "sts"]
LIMIT_SECONDS = 600
# Only the gateway connects to this address.
MOTO = ("127.0.0.1", 5000)


def run(*command, **options):
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                           check=False, **options)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def wait_for(what, ready, limit=LIMIT_SECONDS):
    """Waits until `ready` returns a true value. The limit only prevents hangs."""
    give_up = time.monotonic() + limit
    while True:
        found = ready()
        if found:
            return found
        if time.monotonic() > give_up:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.2)


class Surroundings:
    def __init__(self, work, target, hosts):
        self.work, self.target, self.hosts = work, target, hosts
        self.folder = os.path.join(work, "world")
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o755)
        self.running = []
        self.account = gateway.Account()
        self.database = Database(self, run, wait_for, GATEWAY)
        self.account.taken = self.database.let_sign_in
        self.start_database, self.stop_database = self.database.start, self.database.stop
        self.sql, self.set_token_seconds = self.database.sql, self.database.set_token_seconds
        # scripts/infra/boot.sh removes these groups when they are empty.
        self.groups = os.path.basename(work)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge0", "type", "bridge")
        for address in (GATEWAY, STORE):
            run("ip", "addr", "add", f"{address}/24", "dev", "bridge0")
        run("ip", "link", "set", "bridge0", "up")
        for name, value in (("all/rp_filter", 0), ("bridge0/rp_filter", 0),
                            ("bridge0/route_localnet", 1), ("all/route_localnet", 1)):
            with open(f"/proc/sys/net/ipv4/conf/{name}", "w", encoding="ascii") as setting:
                setting.write(str(value))

    def start(self, name, *command, **options):
        log = open(os.path.join(self.folder, name + ".log"), "wb")
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stderr=log, **({"stdout": log} | options))
        self.running.append((name, process))
        return process

    # Certificates: one authority that the machines trust, and one certificate for all names.

    def make_certificates(self, buckets):
        names = [DATABASE, *(f"{service}.us-east-1.amazonaws.com" for service in SERVICES),
                 "cloudfront.amazonaws.com", "s3.amazonaws.com", "sts.amazonaws.com",
                 *gateway.PUBLIC, *(f"{bucket}.s3.us-east-1.amazonaws.com" for bucket in buckets),
                 *(f"{bucket}.s3.amazonaws.com" for bucket in buckets)]
        path = lambda name: os.path.join(self.folder, name)
        self.names, self.authority = names, path("authority.pem")
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=Boot test authority", "-keyout", path("authority.key"), "-out", self.authority)
        run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=boot test",
            "-keyout", path("server.key"), "-out", path("server.csr"))
        with open(path("extensions"), "w", encoding="ascii") as file:
            file.write("subjectAltName=" + ",".join("DNS:" + name for name in names))
        run("openssl", "x509", "-req", "-days", "2", "-in", path("server.csr"), "-CA",
            self.authority, "-CAkey", path("authority.key"), "-CAcreateserial", "-extfile",
            path("extensions"), "-out", path("server.pem"))

    def addresses(self):
        of_s3 = re.compile(r"(^|\.)s3\.")
        return "".join(f"{STORE if of_s3.search(name) else GATEWAY} {name}\n" for name in self.names)

    def start_aws(self):
        tools = os.path.join(self.target, "infra", "bin", "moto_server")
        self.start("moto", tools, "-H", MOTO[0], "-p", str(MOTO[1]))
        for address in (GATEWAY, STORE):
            gateway.start(self.account, (address, 443), MOTO, os.path.join(self.folder, "server.pem"),
                          os.path.join(self.folder, "server.key"))
        with open("/etc/hosts", encoding="utf-8") as file:
            hosts = file.read()
        private = os.path.join(self.folder, "hosts")
        with open(private, "w", encoding="utf-8") as file:
            file.write(hosts + self.addresses())
        run("mount", "--bind", private, "/etc/hosts")
        os.environ.update(AWS_ACCESS_KEY_ID=gateway.OPERATOR, AWS_SECRET_ACCESS_KEY="test",
                          AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1",
                          AWS_CA_BUNDLE=self.authority, AWS_EC2_METADATA_DISABLED="true")
        wait_for("moto", self.aws_answers)

    def aws_answers(self):
        try:
            self.client("autoscaling").describe_auto_scaling_groups()
            return True
        except Exception as error:
            # The gateway closes connections until moto listens.
            if "Connection" in type(error).__name__ or "Endpoint" in type(error).__name__:
                return False
            raise

    @staticmethod
    def client(service):
        import boto3
        return boto3.client(service, region_name="us-east-1")

    def start_internet(self):
        scratch = os.path.join(self.folder, "internet")
        process = self.start("internet", os.path.join(self.target, "debug", "everytab-testbed"),
                             "--hosts", self.hosts, "--scratch", scratch,
                             stdout=subprocess.PIPE)
        self.internet = json.loads(process.stdout.readline())
        # The machines' resolvers send queries over the bridge, but the small internet's name
        # server listens on loopback.
        port = self.internet["dns"].rsplit(":", 1)[1]
        self.start("dns", "python3", os.path.join(os.path.dirname(__file__), "relay.py"),
                   f"{GATEWAY}:53", f"127.0.0.1:{port}", os.path.join(self.folder, "asked-names"),
                   *gateway.PUBLIC)
        self.client("s3").create_bucket(Bucket="commoncrawl")
        self.publish_crawl(self.internet["crawl"])

    def publish_crawl(self, name):
        """Publishes the crawl's objects. Under another name, also changes the objects that contain
        the crawl's name, so that its records are the first crawl's."""
        s3, bucket, first = self.client("s3"), self.internet["bucket_dir"], self.internet["crawl"]
        for folder, _, files in os.walk(bucket):
            for file in files:
                path = os.path.join(folder, file)
                key = os.path.relpath(path, bucket)
                if name != first and not key.endswith((".parquet", ".yaml", "cc-index-table.paths.gz")):
                    continue
                with open(path, "rb") as source:
                    body = source.read()
                if name != first and key.endswith(".paths.gz"):
                    body = gzip.compress(gzip.decompress(body).replace(first.encode(), name.encode()))
                # For data.commoncrawl.org, moto lets the gateway read this without a signature.
                s3.put_object(Bucket="commoncrawl", Key=key.replace(first, name), Body=body,
                              ACL="public-read")
        self.account.crawls.insert(0, name)

    def asked_names(self):
        with open(os.path.join(self.folder, "asked-names"), encoding="utf-8") as file:
            return file.read().splitlines()

    def stop(self):
        for _, process in reversed(self.running):
            process.terminate()
        for _, process in self.running:
            process.wait()
