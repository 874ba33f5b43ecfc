#!/usr/bin/env bash
# Builds the fleet's image as packer would, boots consoles and workers from it, and performs two
# months of scans and a crawl service according to docs/scan.md and docs/crawl.md.
#
#   [PACKAGE=FILE.deb] [LOCAL=PROGRAM] [OTHER=PROGRAM] [HOSTS=900] \
#       scripts/infra/boot.sh [--image-only]                          (make infra-boot; root)
#
# In the middle of the second month, the image changes to the program OTHER. Without OTHER it is the
# same program with another comment in its SQL, which makes it count as a different program.
#
# The image is a small Debian 13 (SUITE=bookworm: Debian 12). ansible applies the roles twice, and
# the second run must change nothing. The hosts are systemd-nspawn containers with their own
# networks. ansible/tests/boot.py simulates their environment.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

tools="$target/infra"
arch="$(dpkg --print-architecture)"
package="$(realpath "${PACKAGE:-$(ls "$target"/dist/everytab-worker_*_"$arch".deb)}")"
# The operators' program scans the same hosts on one machine, and its result must equal the
# fleet's.
reference="$(realpath "${LOCAL:-$target/dist/everytab-local-$arch}")"
export PATH="$tools/bin:$PATH" PYTHONDONTWRITEBYTECODE=1

[ "$(id -u)" = 0 ] || die "needs root, for chroot and namespaces"
work="$(mktemp -d /var/tmp/everytab-boot.XXXXXX)"
chmod 755 "$work"
root="$work/root"
clean() {
    umount --quiet "$root/proc" 2>/dev/null || true
    find /sys/fs/cgroup -depth -type d -path "*/$(basename "$work")*" -exec rmdir {} + \
        2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT

say "testing the gateway in front of moto"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext \
    subjectAltName=IP:127.0.0.1 -keyout "$work/gateway.key" -out "$work/gateway.pem" 2>/dev/null
python ansible/tests/gateway_test.py "$(command -v moto_server)" "$work/gateway.pem" \
    "$work/gateway.key" >"$work/gateway.log" 2>&1 || { cat "$work/gateway.log"; exit 1; }
say "$(grep '^Ran' "$work/gateway.log")"

base="$(scripts/dist/small-debian.sh)"
mkdir "$root"
tar -C "$root" -xf "$base"

# Use this host's settings for Debian's archive, and do not start the installed services.
cp -rL /etc/apt/apt.conf.d /etc/apt/sources.list* "$root/etc/apt/"
rm -f "$root/etc/apt/apt.conf.d/"docker-*
# The image's suite may differ from this host's.
ours="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)"
find "$root/etc/apt" \( -name '*.sources' -o -name '*.list' \) \
    -exec sed -i "s/ $ours/ ${SUITE:-trixie}/g" {} +
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
mount -t proc proc "$root/proc"

# Debian 12 has no later version.
postgres=17
[ "${SUITE:-}" != bookworm ] || postgres=15
play() {
    (cd ansible && ANSIBLE_HOME="$work/ansible" ANSIBLE_NOCOLOR=1 ansible-playbook worker.yml \
        --inventory "$root," --extra-vars ansible_connection=community.general.chroot \
        --extra-vars @../packer/image.yml --extra-vars "worker_package=$package" \
        --extra-vars "worker_operator_program=$reference worker_postgres=postgresql-$postgres")
}
say "applying the roles for the first time"
play >"$work/first.log" 2>&1 || { cat "$work/first.log"; exit 1; }
say "$(tail -n 2 "$work/first.log" | head -n 1 | tr -s ' ')"
say "applying the roles again"
play >"$work/second.log" 2>&1 || { cat "$work/second.log"; exit 1; }
recap="$(grep -E 'ok=.*changed=' "$work/second.log" | sed 's/.* : //' | tr -s ' ')"
say "$recap"
grep -q 'changed=0 ' <<<"$recap" ||
    { grep -B3 '^changed' "$work/second.log"; say "the second run changed something"; exit 1; }
rm "$root/usr/sbin/policy-rc.d"
umount "$root/proc"
[ "${1:-}" != --image-only ] || exit 0

# These namespaces end with the script that runs in them.
unshare --net --mount --pid --fork --kill-child --mount-proc \
    python ansible/tests/boot.py --root "$root" --work "$work" --target "$target" \
    --hosts "${HOSTS:-900}" --reference "$reference" ${OTHER:+--other "$(realpath "$OTHER")"}
