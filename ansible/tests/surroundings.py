"""The environment of the machines of the boot test, in its network namespace: a bridge, Postgres with
a certificate and tokens as RDS has them, AWS at its names (aws/gateway.py before moto), the small
internet."""
import json
import os
import shutil
import subprocess
import time
import urllib.request

from aws import calls, gateway, policies

# A range of documentation: the machines' resolver refuses to ask name servers of private ones.
NETWORK = "203.0.113"
GATEWAY = NETWORK + ".1"
DATABASE = "db.everytab.zz"
# Of the database, in the names of the rights to sign in to it.
RESOURCE_ID = "db-BOOTTEST"
OWNER_PASSWORD = "owner: it's 100% \"secret\" \\ here"
# The AWS services that the machines' programs call, besides the buckets.
SERVICES = ["autoscaling", "cloudwatch", "monitoring", "ec2", "logs", "secretsmanager", "s3", "sts"]
LIMIT_SECONDS = 600
# Only the gateway reaches it.
MOTO = ("127.0.0.1", 5000)


def run(*command, **options):
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                           check=False, **options)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def wait_for(what, ready, limit=LIMIT_SECONDS):
    """Waits until `ready` gives something true. The limit is for hangs, not a measurement."""
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
        self.account.taken = self.let_sign_in
        # scripts/infra/boot.sh removes them when they are empty.
        self.groups = os.path.basename(work)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge0", "type", "bridge")
        run("ip", "addr", "add", f"{GATEWAY}/24", "dev", "bridge0")
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

    # Certificates: one authority, which the machines trust, and one certificate for all names.

    def make_certificates(self, buckets):
        names = [DATABASE, *(f"{service}.us-east-1.amazonaws.com" for service in SERVICES),
                 "cloudfront.amazonaws.com", "s3.amazonaws.com", "sts.amazonaws.com",
                 *(f"{bucket}.s3.us-east-1.amazonaws.com" for bucket in buckets),
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

    # AWS.

    def start_aws(self):
        tools = os.path.join(self.target, "infra", "bin", "moto_server")
        self.start("moto", tools, "-H", MOTO[0], "-p", str(MOTO[1]))
        gateway.start(self.account, (GATEWAY, 443), MOTO, os.path.join(self.folder, "server.pem"),
                      os.path.join(self.folder, "server.key"))
        with open("/etc/hosts", encoding="utf-8") as file:
            hosts = file.read()
        private = os.path.join(self.folder, "hosts")
        with open(private, "w", encoding="utf-8") as file:
            file.write(hosts + "".join(f"{GATEWAY} {name}\n" for name in self.names))
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
            # The gateway hangs up as long as moto does not listen.
            if "Connection" in type(error).__name__ or "Endpoint" in type(error).__name__:
                return False
            raise

    @staticmethod
    def client(service):
        import boto3
        return boto3.client(service, region_name="us-east-1")

    # The small internet, and its crawl in a bucket.

    def start_internet(self):
        scratch = os.path.join(self.folder, "internet")
        process = self.start("internet", os.path.join(self.target, "debug", "everytab-testbed"),
                             "--hosts", self.hosts, "--scratch", scratch,
                             stdout=subprocess.PIPE)
        self.internet = json.loads(process.stdout.readline())
        # The machines' resolvers query over the bridge; the small internet's name server listens on loopback.
        port = self.internet["dns"].rsplit(":", 1)[1]
        self.start("dns", "python3", os.path.join(os.path.dirname(__file__), "relay.py"),
                   f"{GATEWAY}:53", f"127.0.0.1:{port}")
        s3 = self.client("s3")
        bucket = self.internet["bucket_dir"]
        for folder, _, files in os.walk(bucket):
            for name in files:
                path = os.path.join(folder, name)
                s3.upload_file(path, "commoncrawl", os.path.relpath(path, bucket))

    # Postgres: TLS only; the owner signs in by password, the worker by token.

    def start_database(self):
        programs = run("sh", "-c", "ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1").strip()
        data = os.path.join(self.folder, "postgres")
        here = os.path.dirname(os.path.abspath(__file__))
        checker = os.path.join(self.folder, "token_check.sh")
        shutil.copy(os.path.join(here, "token_check.sh"), checker)
        self.set_token_seconds(900)
        # Postgres' user notes there who signed in.
        with open(os.path.join(self.folder, "sign-ins"), "w", encoding="ascii"):
            run("chown", "postgres:", os.path.join(self.folder, "sign-ins"))
        os.makedirs(data)
        for name in ("server.key", "server.pem"):
            shutil.copy(os.path.join(self.folder, name), os.path.join(data, "..", "pg-" + name))
        run("chown", "-R", "postgres:", data, *(os.path.join(self.folder, "pg-" + name)
                                               for name in ("server.key", "server.pem")))
        os.chmod(os.path.join(self.folder, "pg-server.key"), 0o600)
        as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        password = os.path.join(self.folder, "password")
        with open(password, "w", encoding="utf-8") as file:
            file.write(OWNER_PASSWORD)
        run(*as_postgres, programs + "/initdb", "-D", data, "-U", "postgres", "--auth-local=trust",
            "--auth-host=reject", "-E", "UTF8", "--no-sync", cwd="/")
        with open(os.path.join(data, "pg_hba.conf"), "w", encoding="utf-8") as file:
            file.write("local all postgres trust\n"
                       # As RDS: whoever is a member of rds_iam, however indirectly, needs a token.
                       "hostssl all +rds_iam all pam pamservice=everytab-boot\n"
                       "hostssl all all all scram-sha-256\n")
        self.let_postgres_ask(checker)
        self.socket = self.folder + "/socket"
        os.makedirs(self.socket)
        run("chown", "postgres:", self.socket)
        settings = {"listen_addresses": GATEWAY, "unix_socket_directories": self.socket,
                    "ssl": "on", "ssl_cert_file": self.folder + "/pg-server.pem", "fsync": "off",
                    "ssl_key_file": self.folder + "/pg-server.key", "max_connections": "60"}
        pairs = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.start("postgres", *as_postgres, programs + "/postgres", "-D", data, *pairs, cwd="/")
        wait_for("Postgres", lambda: self.sql("select 1", quietly=True))
        quoted = OWNER_PASSWORD.replace("'", "''")
        self.sql(f"create role everytab_owner login createrole password '{quoted}'")
        self.sql("create database everytab owner everytab_owner")
        # RDS has this role; its members sign in by token, and the owner, who may make roles, grants it.
        self.sql("create role rds_iam")

    @staticmethod
    def let_postgres_ask(checker):
        """A PAM service for this mount namespace alone."""
        upper = os.path.dirname(checker) + "/pam"
        shutil.copytree("/etc/pam.d", upper)
        with open(upper + "/everytab-boot", "w", encoding="ascii") as file:
            file.write(f"auth required pam_exec.so expose_authtok quiet {checker}\n"
                       "account required pam_permit.so\n")
        run("mount", "--bind", upper, "/etc/pam.d")

    def let_sign_in(self, role, key):
        """A session of a role may make tokens for the users of Postgres that the role may be."""
        with open(os.path.join(self.folder, "principals"), "a", encoding="ascii") as file:
            for user in ("everytab_worker", "everytab_owner"):
                place = f"arn:aws:rds-db:{calls.REGION}:{calls.ACCOUNT}:dbuser:{RESOURCE_ID}/{user}"
                allowed, by = policies.decide(role.statements, "rds-db:connect", place, {})
                if allowed:
                    file.write(f"{key} {user} {role.name} {by[0]['Sid']}\n")

    def record_sign_ins(self):
        """Adds to the record of calls who signed in to Postgres by token."""
        with open(os.path.join(self.folder, "sign-ins"), encoding="ascii") as file:
            for line in sorted(set(file.read().splitlines())):
                _, user, role, sid = line.split(" ")
                self.account.record.append(gateway.Entry(role, "rds-db:connect", (
                    f"arn:aws:rds-db:{calls.REGION}:{calls.ACCOUNT}:dbuser:{RESOURCE_ID}/{user}"),
                    (sid,)))

    def set_token_seconds(self, seconds):
        with open(os.path.join(self.folder, "token-seconds"), "w", encoding="ascii") as file:
            file.write(str(seconds))

    def sql(self, statement, database="postgres", quietly=False):
        ended = subprocess.run(
            ["psql", "-XAtq", "-h", self.socket, "-U", "postgres", "-d", database, "-c", statement],
            capture_output=True, text=True, check=False)
        if ended.returncode and not quietly:
            raise RuntimeError(f"{statement}: {ended.stderr}")
        return ended.stdout.strip()

    def stop(self):
        for _, process in reversed(self.running):
            process.terminate()
        for _, process in self.running:
            process.wait()


def control(address, name, value):
    """Tells a machine's metadata service what to say."""
    request = urllib.request.Request(f"http://{address}/control/{name}", value.encode(),
                                     method="PUT")
    urllib.request.urlopen(request, timeout=10).read()
