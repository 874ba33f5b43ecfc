"""A Postgres that works like RDS: only TLS, the owner signs in with a password, and workers with
tokens.
"""
import os
import shutil
import subprocess

from aws import calls, gateway, policies

RESOURCE_ID = "db-BOOTTEST"
OWNER_PASSWORD = "owner: it's 100% \"secret\" \\ here"
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


class Database:
    """The database servers, of which one runs at a time. surroundings.py passes the arguments."""

    def __init__(self, world, run, wait_for, address):
        self.world, self.run, self.wait_for, self.address = world, run, wait_for, address
        self.folder, self.number, self.process = world.folder, 0, None
        self.socket = self.folder + "/socket"

    def prepare(self):
        here = os.path.dirname(os.path.abspath(__file__))
        checker = os.path.join(self.folder, "token_check.sh")
        shutil.copy(os.path.join(here, "token_check.sh"), checker)
        self.set_token_seconds(900)
        with open(os.path.join(self.folder, "sign-ins"), "w", encoding="ascii"):
            self.run("chown", "postgres:", os.path.join(self.folder, "sign-ins"))
        for name in ("server.key", "server.pem"):
            copy = os.path.join(self.folder, "pg-" + name)
            shutil.copy(os.path.join(self.folder, name), copy)
            self.run("chown", "postgres:", copy)
        os.chmod(os.path.join(self.folder, "pg-server.key"), 0o600)
        self.let_postgres_ask(checker)
        os.makedirs(self.socket)
        self.run("chown", "postgres:", self.socket)

    def let_postgres_ask(self, checker):
        """Creates a PAM service that exists only in this mount namespace."""
        upper = os.path.dirname(checker) + "/pam"
        shutil.copytree("/etc/pam.d", upper)
        with open(upper + "/everytab-boot", "w", encoding="ascii") as file:
            file.write(f"auth required pam_exec.so expose_authtok quiet {checker}\n"
                       "account required pam_permit.so\n")
        self.run("mount", "--bind", upper, "/etc/pam.d")

    def start(self, parameters):
        """Starts an empty server with terraform's `parameters`."""
        if not self.number:
            self.prepare()
        self.number += 1
        programs = self.run("sh", "-c", "ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1").strip()
        data = os.path.join(self.folder, f"postgres{self.number}")
        os.makedirs(data)
        self.run("chown", "postgres:", data)
        self.run(*AS_POSTGRES, programs + "/initdb", "-D", data, "-U", "postgres", "--auth-local=trust",
                 "--auth-host=reject", "-E", "UTF8", "--no-sync", cwd="/")
        with open(os.path.join(data, "pg_hba.conf"), "w", encoding="utf-8") as file:
            file.write("local all postgres trust\n"
                       # As in RDS, direct and indirect members of rds_iam need a token.
                       "hostssl all +rds_iam all pam pamservice=everytab-boot\n"
                       "hostssl all all all scram-sha-256\n")
        settings = parameters | {
            "listen_addresses": self.address, "unix_socket_directories": self.socket,
            "ssl": "on", "ssl_cert_file": self.folder + "/pg-server.pem", "fsync": "off",
            "ssl_key_file": self.folder + "/pg-server.key", "max_connections": "60"}
        pairs = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.process = self.world.start(f"postgres{self.number}", *AS_POSTGRES, programs + "/postgres",
                                        "-D", data, *pairs, cwd="/")
        self.wait_for("Postgres", lambda: self.sql("select 1", quietly=True))
        quoted = OWNER_PASSWORD.replace("'", "''")
        self.sql(f"create role everytab_owner login createrole password '{quoted}'")
        self.sql("create database everytab owner everytab_owner")
        # As in RDS, members of this role sign in with tokens, and the owner, who may create
        # roles, grants it.
        self.sql("create role rds_iam")

    def stop(self):
        """Stops the server like a deletion without a final snapshot."""
        # SIGQUIT stops the server although sessions are open.
        self.process.send_signal(3)
        self.process.wait()
        shutil.rmtree(os.path.join(self.folder, f"postgres{self.number}"))

    @property
    def log(self):
        return os.path.join(self.folder, f"postgres{self.number}.log")

    def let_sign_in(self, role, key):
        """Lets a role's session create tokens for those Postgres users that the role may sign in
        as."""
        with open(os.path.join(self.folder, "principals"), "a", encoding="ascii") as file:
            for user in ("everytab_worker", "everytab_api", "everytab_owner"):
                allowed, by = policies.decide(role.statements, "rds-db:connect", place(user), {})
                if allowed:
                    file.write(f"{key} {user} {role.name} {by[0]['Sid']}\n")

    def record_sign_ins(self, record):
        with open(os.path.join(self.folder, "sign-ins"), encoding="ascii") as file:
            for line in sorted(set(file.read().splitlines())):
                _, user, role, sid = line.split(" ")
                record.append(gateway.Entry(role, "rds-db:connect", place(user), (sid,)))

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


def place(user):
    return f"arn:aws:rds-db:{calls.REGION}:{calls.ACCOUNT}:dbuser:{RESOURCE_ID}/{user}"
