"""A machine in the fleet: the image under systemd-nspawn, in a separate network, with the files in
terraform's user data and a metadata service at the real address.
"""
import json
import os
import signal
import subprocess
import time

from database import OWNER_PASSWORD
from surroundings import DATABASE, GATEWAY, NETWORK, run, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))


# Runs a command in a separate control group (version 1 or 2), because otherwise the machines'
# units would share one.
IN_ITS_OWN_GROUP = """
groups="$1" name="$2"; shift 2
for folder in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    [ -f "$folder/cgroup.procs" ] || continue
    mkdir -p "$folder/$groups/$name"
    echo $$ >"$folder/$groups/$name/cgroup.procs"
done
exec "$@"
"""


class Machine:
    def __init__(self, number, world, root, instance_id, role):
        self.name, self.number = f"machine{number}", number
        self.world, self.instance_id, self.role = world, instance_id, role
        self.address = f"{NETWORK}.{10 + number}"
        self.folder = os.path.join(world.work, self.name)
        self.root = os.path.join(self.folder, "root")
        for part in ("root", "upper", "overlay"):
            os.makedirs(os.path.join(self.folder, part))
        run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={root},"
            f"upperdir={self.folder}/upper,workdir={self.folder}/overlay", self.root)
        self.leader = None

    def write(self, path, content, mode="w"):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, encoding="utf-8") as file:
            file.write(content)

    def in_network(self, *command):
        return run("ip", "netns", "exec", self.name, *command)

    def join(self):
        """Connects the machine to the bridge. Loopback keeps 127.0.0.1. The rest of 127.0.0.0/8,
        where the small internet's websites are, is reached over the bridge."""
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"cable{self.number}", "type", "veth", "peer", "name", "eth0",
            "netns", self.name)
        run("ip", "link", "set", f"cable{self.number}", "master", "bridge0", "up")
        self.in_network("sh", "-ec", f"""
            ip link set lo up
            ip addr add 169.254.169.254/32 dev lo
            ip addr add {self.address}/24 dev eth0
            ip link set eth0 up
            ip route add default via {GATEWAY}
            echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet
            echo 0 >/proc/sys/net/ipv4/conf/eth0/rp_filter
            echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter""")
        self.world.start(f"metadata{self.number}", "ip", "netns", "exec", self.name, "python3",
                         os.path.join(HERE, "metadata.py"), self.instance_id, self.role.name,
                         json.dumps({"Code": "Success", "Type": "AWS-HMAC",
                                     "LastUpdated": "2026-01-01T00:00:00Z",
                                     **self.world.account.session(self.role, self.name)}))

    def beyond_the_cable(self):
        """Removes the loopback addresses that systemd sets at boot."""
        self.in_network("sh", "-ec", f"""
            ip addr replace 127.0.0.1/32 dev lo
            ip addr del 127.0.0.1/8 dev lo
            ip route replace 127.0.0.0/8 via {GATEWAY} src {self.address}""")

    def settle(self, user_data, small_internet):
        """Writes the files that cloud-init would write, and the settings with which
        the small internet replaces the internet."""
        with open(self.world.authority, encoding="ascii") as file:
            authority = file.read()
        self.write("/etc/ssl/certs/ca-certificates.crt", authority, "a")
        self.write("/etc/everytab/rds-ca.pem", authority)
        with open(small_internet["ca_file"], encoding="ascii") as file:
            self.write("/etc/everytab/internet.pem", file.read())
        self.write("/etc/hostname", self.name + "\n")
        self.write("/etc/hosts", "127.0.0.1 localhost\n" + self.world.addresses())
        self.write("/etc/resolv.conf", f"nameserver {GATEWAY}\n")
        # The deployed resolver gets another root, whose names may point to 127.0.0.0/8.
        self.write("/etc/unbound/unbound.conf.d/zz-small-internet.conf",
                   'server:\n    private-domain: "."\nforward-zone:\n    name: "."\n'
                   f"    forward-addr: {GATEWAY}\n")
        ports = ",".join(f"{port}={to}" for port, to in small_internet["dial_ports"])
        # Debian's AWS CLI has its own certificate authorities.
        trust = 'AWS_CA_BUNDLE="/etc/ssl/certs/ca-certificates.crt"\n'
        fetches = (f'EVERYTAB_DIAL_PORT="{ports}"\nEVERYTAB_ALLOW_RANGE="127.0.0.0/8,::1/128"\n'
                   'EVERYTAB_CA_FILE="/etc/everytab/internet.pem"\nEVERYTAB_IN_FLIGHT="64"\n')
        extra = {"/etc/everytab/worker.env": trust + fetches,
                 "/etc/everytab/crawl.env": fetches,
                 "/etc/everytab/crawls.env":
                 trust + 'EVERYTAB_ALLOW_RANGE="127.0.0.0/8,::1/128"\n',
                 # For this name Caddy creates a certificate itself.
                 "/etc/everytab/proxy.env": 'EVERYTAB_API_DOMAIN="localhost"\n',
                 "/etc/everytab/broker.env": trust,
                 "/etc/everytab/scan.env":
                 trust + 'EVERYTAB_LEASE="5s"\nEVERYTAB_INTERNET="small"\n'
                 # The names that `doctor` resolves have loopback addresses, too.
                 'EVERYTAB_ALLOW_RANGE="127.0.0.0/8,::1/128"\n',
                 "/etc/everytab/group.env": trust}
        self.runcmd = user_data["runcmd"]
        self.is_console = any(file["path"].endswith("/scan.env") for file in user_data["write_files"])
        for file in user_data["write_files"]:
            self.write(file["path"], file["content"] + extra.get(file["path"], ""))
            run("chroot", self.root, "chown", file["owner"], file["path"])
            os.chmod(self.root + file["path"], int(file["permissions"], 8))

    def boot(self):
        self.console = self.world.start(
            self.name, "sh", "-ec", IN_ITS_OWN_GROUP, "sh", self.world.groups, self.name,
            "systemd-nspawn", "--quiet", "--boot", f"--directory={self.root}",
            f"--machine={self.name}", f"--network-namespace-path=/run/netns/{self.name}",
            # The fence needs this capability. The machine has its own network.
            "--capability=CAP_NET_ADMIN", "--register=no", "--keep-unit", "--link-journal=no", "--resolv-conf=off",
            "--timezone=off", "--console=pipe")
        self.leader = wait_for(f"{self.name}'s first process", self.find_leader)
        wait_for(f"{self.name} to be up", self.is_up)
        self.beyond_the_cable()

    def start_target(self):
        for command in self.runcmd:
            self.do(*command)

    def find_leader(self):
        """Returns the machine's first process. Before it exists, other processes appear in its
        place for a short time."""
        process = f"/proc/{self.console.pid}"
        with open(process + "/comm", encoding="ascii") as file:
            if file.read().strip() != "systemd-nspawn":
                return None
        with open(f"{process}/task/{self.console.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/comm", encoding="ascii") as file:
                if file.read().strip() == "systemd":
                    return child
        return None

    def is_up(self):
        state = self.ask("systemctl", "is-system-running").strip()
        if state == "degraded":
            raise RuntimeError(self.name + ": " + self.ask("systemctl", "--failed", "--no-pager"))
        return state == "running"

    def inside(self, command):
        """Returns a command that runs on the machine, without this script's environment."""
        return ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "nsenter", "-t", self.leader, "-m",
                "-u", "-i", "-n", "-p", "-C", "--", *command]

    def ask(self, *command):
        return subprocess.run(self.inside(command), capture_output=True, text=True,
                              check=False).stdout

    def do(self, *command):
        return run(*self.inside(command))

    def owner(self, *arguments):
        return self.do("everytab-owner", *arguments)

    def as_user(self, user, *command):
        ended = subprocess.run(self.inside(["setpriv", "--reuid", user, "--regid", user,
                                            "--clear-groups", *command]),
                               capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout

    def unit(self, *properties, unit="everytab-worker.service"):
        shown = self.do("systemctl", "show", unit, "--property=" + ",".join(properties))
        return dict(line.split("=", 1) for line in shown.splitlines())

    def worker_is(self, state):
        return self.unit("ActiveState")["ActiveState"] == state

    def journal(self, unit="everytab-worker.service"):
        return self.ask("journalctl", "--no-pager", "--output=cat", "--unit", unit)

    def forget_silence(self, seconds):
        """Makes the network forget connections, as in AWS: packets of a connection that the network
        does not know, or that was silent for too long, are dropped without an error."""
        rules = "table inet network {\n" + "".join(
            f"chain {way} {{ type filter hook {way} priority 10; meta l4proto tcp ct state invalid "
            "counter drop; }\n" for way in ("input", "output")) + "}\n"
        run(*self.inside(["nft", "-f", "-"]), input=rules)
        for name, value in (("timeout_established", seconds), ("loose", 0), ("be_liberal", 1)):
            self.in_network("sh", "-ec",
                            f"echo {value} >/proc/sys/net/netfilter/nf_conntrack_tcp_{name}")
        self.forgets_after = seconds

    def stay_silent(self):
        """Opens two connections to Postgres that are silent for longer than the network remembers
        them: one with our keepalive settings, and one without."""
        seconds = int(self.forgets_after) + 20
        began, silent = time.monotonic(), []
        for dead in (False, True):
            url = (f"postgresql://everytab_owner@{DATABASE}/postgres?sslmode=require"
                   + ("&keepalives=0" if dead else ""))
            never = "set tcp_keepalives_idle = 7200;" if dead else ""
            psql = ["env", "PGPASSWORD=" + OWNER_PASSWORD, "psql", "-XAtq", url, "-c",
                    f"{never} select pg_sleep({seconds})", "-c", "select 'heard'"]
            silent.append(subprocess.Popen(self.inside(psql), stdout=subprocess.PIPE, text=True))
        return began + seconds + 10, silent

    def heard(self, answered_by, silent):
        """Returns the first connection's answer, and whether the second one still waits in vain."""
        wait_for("the network to forget", lambda: time.monotonic() > answered_by)
        kept, dead = silent
        answer, waits = kept.communicate(timeout=60)[0].strip(), dead.poll() is None
        # Kill the child of nsenter, which waits for this child. A zombie would keep the machine
        # from shutting down.
        with open(f"/proc/{dead.pid}/task/{dead.pid}/children", encoding="ascii") as file:
            for child in file.read().split():
                os.kill(int(child), signal.SIGKILL)
        dead.wait()
        return answer, waits

    def cut(self):
        run("ip", "link", "set", f"cable{self.number}", "down")

    def mend(self):
        run("ip", "link", "set", f"cable{self.number}", "up")

    def give_notice(self):
        """Gives a spot notice, as EC2 does two minutes before."""
        self.tell("spot/instance-action",
                  json.dumps({"action": "terminate", "time": "2030-01-01T00:00:00Z"}))

    def leave_the_group(self):
        """Sets the state that EC2 reports to a machine that its group removes."""
        self.tell("autoscaling/target-lifecycle-state", "Terminated")

    def tell(self, name, value):
        self.in_network("curl", "-fsS", "-X", "PUT", "--data", value,
                        f"http://169.254.169.254/control/{name}")

    def power_off(self):
        self.ask("systemctl", "poweroff", "--no-block")
        self.console.wait(timeout=240)
