#!/usr/bin/env bash
# Makes what is installed elsewhere, into target/dist: the program alone, and a Debian package with
# its units.
#
#   ARCH=amd64|arm64 PROFILE=release|dev scripts/dist/dist.sh      (make dist)
#
# The program needs glibc 2.17 or later and nothing else: it is linked by zig against that version's
# symbols, which also makes arm64 on amd64 (given Rust's library for it: rustup target add
# aarch64-unknown-linux-gnu). For trying things out: PROFILE=dev, or PROGRAM=FILE, one that is built
# already. Running it again makes the same bytes.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

OLDEST_GLIBC=2.17
arch="${ARCH:-$(dpkg --print-architecture)}"
profile="${PROFILE:-release}"
case "$arch" in
    amd64) triple=x86_64-unknown-linux-gnu ;;
    arm64) triple=aarch64-unknown-linux-gnu ;;
    *) echo "dist: ARCH is amd64 or arm64" >&2; exit 2 ;;
esac
out="$target/dist"
folder="$profile"
[ "$profile" != dev ] || folder=debug

program="${PROGRAM:-}"
if [ -z "$program" ]; then
    if [ ! -d "$(rustc --print target-libdir --target "$triple")" ]; then
        echo "dist: Rust's library for $triple is missing: rustup target add $triple" >&2
        exit 1
    fi
    PATH="$target/dist-tools/bin:$PATH" cargo zigbuild --quiet --locked \
        --profile "$profile" --package everytab-worker --bin everytab-worker \
        --target "$triple.$OLDEST_GLIBC"
    program="$target/$triple/$folder/everytab-worker"
fi

# One version a program, so that a package of other bytes is another version.
version="$(sed -nE '/^\[workspace.package\]/,/^\[/s/^version = "(.*)"/\1/p' Cargo.toml)"
moment="$(git log -1 --format=%ct 2>/dev/null || echo 0)"

root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
place() { install -D -m "$1" "$2" "$root/$3"; }
place 755 "$program" usr/bin/everytab-worker
# Lines of source are five sixths of it; names of functions stay, for a panic to tell.
strip="${triple/-unknown/}-strip"
command -v "$strip" >/dev/null ||
    { echo "dist: $strip is missing (binutils of $arch): the program is large" >&2; strip=true; }
"$strip" --strip-debug "$root/usr/bin/everytab-worker"
for script in packaging/lib/*; do
    place 755 "$script" "usr/lib/everytab/$(basename "$script")"
done
for unit in packaging/systemd/*; do
    place 644 "$unit" "usr/lib/systemd/system/$(basename "$unit")"
done
place 644 packaging/sysusers.conf usr/lib/sysusers.d/everytab.conf
place 644 packaging/tmpfiles.conf usr/lib/tmpfiles.d/everytab.conf
place 640 packaging/worker.env etc/everytab/worker.env
for text in LICENSE-MIT LICENSE-APACHE CHANGELOG.md; do
    place 644 "$text" "usr/share/doc/everytab/$text"
done
version="$version+$(cd "$root" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum |
    cut -c1-12)"
install -d "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" packaging/control >"$root/DEBIAN/control"
echo /etc/everytab/worker.env >"$root/DEBIAN/conffiles"
install -m 755 packaging/postinst packaging/prerm packaging/postrm "$root/DEBIAN"

mkdir -p "$out"
rm -f "$out"/everytab_*_"$arch".deb
find "$root" -exec touch --no-dereference --date "@$moment" {} +
SOURCE_DATE_EPOCH="$moment" dpkg-deb --root-owner-group -Zxz --build "$root" \
    "$out/everytab_${version}_$arch.deb" >/dev/null
install -m 755 "$root/usr/bin/everytab-worker" "$out/everytab-worker-$arch"
cp packaging/Containerfile "$out/"
(cd "$out" && sha256sum everytab_*.deb everytab-worker-* >SHA256SUMS)
ls -l "$out" | awk 'NR > 1 { print $5, $9 }'
