#!/usr/bin/env bash
# Builds the files that are installed on other machines, in target/dist: two Debian packages and
# their programs, each program's components (an SBOM in CycloneDX), and the SHA-256 of all of them.
#
#   ARCH=amd64|arm64 PROFILE=release|dev scripts/dist/dist.sh [worker] [local]      (make dist)
#
# everytab-worker is for the fleet's hosts: the program without `local`, and its units.
# everytab-local is for operators: the program with all commands. By default both are built.
#
# A program needs only glibc 2.17 or later, because zig links it against that version's symbols. zig
# also builds arm64 on amd64 after `rustup target add aarch64-unknown-linux-gnu`. PROGRAM=FILE packs
# a program that is already built. Running this again yields the same bytes.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

OLDEST_GLIBC=2.17
declare -A FEATURES=([worker]="$fleet_features" [local]="$local_features")
arch="${ARCH:-$(dpkg --print-architecture)}"
profile="${PROFILE:-release}"
case "$arch" in
    amd64) triple=x86_64-unknown-linux-gnu ;;
    arm64) triple=aarch64-unknown-linux-gnu ;;
    *) say "invalid ARCH: expected amd64 or arm64"; exit 2 ;;
esac
kinds=("$@")
[ $# -gt 0 ] || kinds=(worker local)
for kind in "${kinds[@]}"; do
    [ -n "${FEATURES[$kind]:-}" ] || { say "no package $kind; expected ${!FEATURES[*]}"; exit 2; }
done
[ -z "${PROGRAM:-}" ] || [ ${#kinds[@]} = 1 ] || die "PROGRAM is for one package: worker or local"

out="$target/dist"
mkdir -p "$out"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

build() {
    local kind="$1" file="$2" folder="$profile"
    if [ -n "${PROGRAM:-}" ]; then
        cp "$PROGRAM" "$file"
        return
    fi
    [ "$profile" != dev ] || folder=debug
    [ -d "$(rustc --print target-libdir --target "$triple")" ] ||
        die "Rust's library for $triple is missing: rustup target add $triple"
    say "building everytab-$kind for $arch"
    PATH="$target/dist-tools/bin:$PATH" cargo zigbuild --quiet --locked \
        --profile "$profile" --package everytab-worker --bin everytab-worker \
        --no-default-features --features "${FEATURES[$kind]}" --target "$triple.$OLDEST_GLIBC"
    cp "$target/$triple/$folder/everytab-worker" "$file"
}

# place MODE FILE PATH
place() { install -D -m "$1" "$2" "$root/$3"; }

place_units() {
    local file
    for file in packaging/lib/*; do
        place 755 "$file" "usr/lib/everytab/$(basename "$file")"
    done
    find packaging/systemd -type f | while read -r file; do
        place 644 "$file" "usr/lib/systemd/system/${file#packaging/systemd/}"
    done
    # A script loads fence.nft, and operators call everytab-owner by its name.
    chmod 644 "$root/usr/lib/everytab/fence.nft"
    install -d "$root/usr/sbin"
    ln -s ../lib/everytab/everytab-owner "$root/usr/sbin/everytab-owner"
    place 644 packaging/sysusers.conf usr/lib/sysusers.d/everytab.conf
    place 644 packaging/tmpfiles.conf usr/lib/tmpfiles.d/everytab.conf
    for file in worker crawl api; do
        place 640 "packaging/$file.env" "etc/everytab/$file.env"
    done
}

place_control() {
    local kind="$1" file
    install -d "$root/DEBIAN"
    sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" "packaging/everytab-$kind/control" \
        >"$root/DEBIAN/control"
    [ ! -e "$root/etc/everytab" ] ||
        (cd "$root" && printf '/%s\n' etc/everytab/*.env >DEBIAN/conffiles)
    for file in postinst prerm postrm; do
        [ ! -e "packaging/everytab-$kind/$file" ] ||
            install -m 755 "packaging/everytab-$kind/$file" "$root/DEBIAN"
    done
}

package() {
    local kind="$1" text
    root="$work/$kind"
    mkdir -m 755 "$root"
    build "$kind" "$work/program"
    place 755 "$work/program" usr/bin/everytab-worker
    # Source lines are five sixths of the debug information. Function names are kept for panic
    # messages.
    "$strip" --strip-debug "$root/usr/bin/everytab-worker"
    [ "$kind" != worker ] || place_units
    for text in LICENSE-MIT LICENSE-APACHE CHANGELOG.md; do
        place 644 "$text" "usr/share/doc/everytab-$kind/$text"
    done
    # The version contains a digest of the content, so that a package with other bytes has another
    # version.
    version="$(sed -nE '/^\[workspace.package\]/,/^\[/s/^version = "(.*)"/\1/p' Cargo.toml)"
    version+="+$(cd "$root" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum |
        cut -c1-12)"
    place_control "$kind"
    rm -f "$out"/"everytab-$kind"_*_"$arch".deb
    find "$root" -exec touch --no-dereference --date "@$moment" {} +
    SOURCE_DATE_EPOCH="$moment" dpkg-deb --root-owner-group -Zxz --build "$root" \
        "$out/everytab-${kind}_${version}_$arch.deb" >/dev/null
    install -m 755 "$root/usr/bin/everytab-worker" "$out/everytab-$kind-$arch"
    scripts/dist/sbom "${FEATURES[$kind]}" "$triple" "$version" \
        >"$out/everytab-$kind-$arch.cdx.json"
}

moment="$(git log -1 --format=%ct 2>/dev/null || echo 0)"
strip="${triple/-unknown/}-strip"
have "$strip" ||
    { say "$strip is missing (binutils of $arch): the programs are large"; strip=true; }
rm -f "$out"/everytab_*_"$arch".deb
for kind in "${kinds[@]}"; do
    package "$kind"
done
cp packaging/Containerfile "$out/"
(cd "$out" && sha256sum everytab-*.deb everytab-*64 everytab-*.cdx.json >SHA256SUMS)
ls -l "$out" | awk 'NR > 1 { print $5, $9 }'
