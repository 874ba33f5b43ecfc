#!/usr/bin/env bash
# Tests which addresses the HTTP service's user can reach behind packaging/lib/fence-api, in a
# separate network with listeners that answer: fence.sh REPOSITORY. Needs root, to create a network
# and to become another user.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
repository="$(realpath "${1:?}")"

without() {
    [ "${CI:-}" != true ] || die "$*"
    echo "skipped: the fence of the HTTP service: $*"
    exit 0
}
[ "$(id -u)" = 0 ] || without "needs root"
have nft || without "nft is missing (nftables)"
unshare --net true 2>/dev/null || without "no network of its own is to be had"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# The real fence, with the user `nobody` instead of everytab-api.
sed 's/skuid != everytab-api/skuid != nobody/' "$repository/packaging/lib/fence-api" >"$work/fence"
grep -q 'skuid != nobody' "$work/fence" || die "the fence does not contain the user"
cat >"$work/try" <<'TRY'
import os, pwd, socket, subprocess, sys, threading

ADDRESSES = ("127.0.0.1", "127.0.0.2", "10.84.0.9", "52.216.0.1", "93.184.216.34",
             "169.254.169.254")
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
for one in ADDRESSES[1:]:
    subprocess.run(["ip", "addr", "add", one + "/32", "dev", "lo"], check=True)


def listen(address, port, kind=socket.SOCK_STREAM):
    place = socket.socket(socket.AF_INET, kind)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind((address, port))
    if kind == socket.SOCK_STREAM:
        place.listen()
    return place


def reaches(address, port):
    try:
        socket.create_connection((address, port), 2).close()
        return True
    except OSError:
        return False


def sends(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as place:
        try:
            place.sendto(b"x", (address, port))
            return True
        except OSError:
            return False


PORTS = (53, 80, 443, 5432, 8088, 8471, 9464)
held = [listen(address, port) for address in ADDRESSES for port in PORTS]
service = held[ADDRESSES.index("127.0.0.1") * len(PORTS) + PORTS.index(8088)]
ranges = sys.argv[2]
os.makedirs("settings")
with open("settings/api-fence.env", "w") as file:
    file.write(ranges)
subprocess.run(["sh", sys.argv[1]], env={**os.environ, "SETTINGS": "settings"}, check=True)

wanted = {("10.84.0.9", 5432), ("10.84.0.9", 53), ("127.0.0.1", 53), ("127.0.0.2", 53),
          ("127.0.0.1", 8471)}
if ranges:
    wanted |= {("52.216.0.1", 443)}
else:
    wanted |= {("127.0.0.1", 5432), ("127.0.0.2", 5432)}
# Other users are not fenced.
assert all(reaches(address, port) for address in ADDRESSES for port in PORTS)


def answer():
    """Accepts one connection as the service's user, and answers it."""
    os.setgid(65534)
    os.setuid(pwd.getpwnam("nobody").pw_uid)
    asked, _ = service.accept()
    asked.sendall(asked.recv(8) + b"!")
    os._exit(0)


# Two connections from the attempts above are still in its queue.
service.setblocking(False)
try:
    while True:
        service.accept()[0].close()
except BlockingIOError:
    service.setblocking(True)
if os.fork() == 0:
    answer()
with socket.create_connection(("127.0.0.1", 8088), 5) as client:
    client.sendall(b"ping")
    assert client.recv(8) == b"ping!", "the service cannot answer"
os.wait()

if os.fork() == 0:
    os.setgid(65534)
    os.setuid(pwd.getpwnam("nobody").pw_uid)
    found = {(address, port) for address in ADDRESSES for port in PORTS if reaches(address, port)}
    if found != wanted:
        print(f"reached besides: {sorted(found - wanted)}; not reached: {sorted(wanted - found)}")
        os._exit(1)
    if sends("93.184.216.34", 53) or sends("93.184.216.34", 443) or not sends("10.84.0.9", 53):
        print("datagrams go elsewhere than to name servers")
        os._exit(1)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
TRY
fleet=$'EVERYTAB_POSTGRES_RANGES="10.84.0.0/16"\n'
fleet+='EVERYTAB_STORE_RANGES="52.216.0.0/15 3.5.0.0/19"'
for ranges in "$fleet" ''; do
    mkdir "$work/one"
    (cd "$work/one" && unshare --net python3 "$work/try" "$work/fence" "$ranges") ||
        die "the fence with ${ranges:-no settings} differs"
    rm -r "$work/one"
done
# If a setting is not a network, the script fails and the service does not start.
mkdir "$work/settings"
echo 'EVERYTAB_STORE_RANGES="1.2.3.4}accept;#"' >"$work/settings/api-fence.env"
if SETTINGS="$work/settings" unshare --net sh "$work/fence" 2>/dev/null; then
    die "a setting that is not a network becomes a rule"
fi
echo "fence: the HTTP service reaches only Postgres, name servers, the broker and the store"
