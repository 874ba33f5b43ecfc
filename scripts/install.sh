#!/usr/bin/env bash
# Installs what EveryTab needs from Debian's packages, and only what is missing.
#
#   scripts/install.sh [--for demo|test|bench|sheet|dashboards|infra|boot|dist|container]
#
# demo: a C compiler, a Postgres server, CA certificates. test: that, PgBouncer, Node.js and
# Chromium for the page's tests, iproute2 for those that cut links, in target/python what
# python-requirements.txt names, in target/node what node-packages.txt does, and all that infra does.
# bench: a C compiler, Go and Python, for the programs that benchmarks run beside ours; iproute2 and
# wrk, for those of the fetcher. sheet: a C compiler, Chromium, ImageMagick and Python, for looking at
# icons. dashboards: what a demo takes, and Prometheus. infra: packer and Python, and in target/infra
# what checks terraform/ and ansible/ (terraform/offline/requirements.txt). boot: that, debootstrap,
# systemd's containers and Postgres, to boot the image. dist: a C compiler, and in
# target/dist-tools a C compiler that links with old systems. container: debootstrap and buildah. Rust
# is never installed, only asked for.
# Runs as root or with sudo; where neither is to be had it prints the line to run.
set -euo pipefail
cd "$(dirname "$0")/.."

OLDEST_POSTGRES=15
OLDEST_NODE=18

purpose=demo
while [ $# -gt 0 ]; do
    case "$1" in
        --for) purpose="${2:-}"; shift ;;
        --for=*) purpose="${1#--for=}" ;;
        *) purpose= ;;
    esac
    shift || true
done
case "$purpose" in
    demo | test | bench | sheet | dashboards | infra | boot | dist | container) ;;
    *)
        echo "usage: scripts/install.sh" \
            "[--for demo|test|bench|sheet|dashboards|infra|boot|dist|container]" >&2
        exit 2
        ;;
esac

have() { command -v "$1" >/dev/null 2>&1; }
say() { echo "install: $*" >&2; }

have_postgres_server() {
    local program version
    for program in "${EVERYTAB_PG_BIN:-/nowhere}/postgres" /usr/lib/postgresql/*/bin/postgres \
        "$(command -v postgres || true)"; do
        [ -x "$program" ] && [ -x "$(dirname "$program")/initdb" ] || continue
        version="$("$program" --version | sed -E 's/.*\(PostgreSQL\) ([0-9]+).*/\1/')"
        [ "$version" -ge "$OLDEST_POSTGRES" ] && return 0
    done
    return 1
}

have_c_compiler() {
    have cc && echo '#include <stdlib.h>' | cc -E -x c - >/dev/null 2>&1
}

have_node() {
    have node && [ "$(node --version | sed -E 's/^v([0-9]+).*/\1/')" -ge "$OLDEST_NODE" ]
}

have_browser() {
    have chromium || have chromium-browser || have google-chrome
}

have_pgbouncer() {
    have pgbouncer || [ -x /usr/sbin/pgbouncer ]
}

have_python() {
    have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null
}

# Not Debian's business: a few pinned programs in a folder of their own. Tests that want them say
# "skipped" where they are not to be had, so their absence is no failure of this script.
install_python_programs() {
    local folder="${CARGO_TARGET_DIR:-target}/$1" wanted="$2" installed
    installed="$folder/installed${3:-}"
    cmp --silent "$wanted" "$installed" && return
    say "installing $(grep -v '^#' "$wanted" | tr '\n' ' ')into $folder"
    # More programs (a third word) are added to what is there.
    [ -n "${3:-}" ] || rm -rf "$folder"
    if python3 -m venv "$folder" && "$folder/bin/pip" install --quiet \
        --disable-pip-version-check --requirement "$wanted" >"$folder/log" 2>&1; then
        cp "$wanted" "$installed"
    else
        say "no Python programs ($folder/log): what needs them cannot run"
    fi
}

# The same for what checks the page: axe and an HTML validator.
install_node_packages() {
    local folder="${CARGO_TARGET_DIR:-target}/node" wanted=scripts/node-packages.txt
    cmp --silent "$wanted" "$folder/installed" && return
    mkdir -p "$folder"
    say "installing $(tr '\n' ' ' <"$wanted")into $folder"
    if have npm && xargs npm install --prefix "$folder" --no-save --no-audit --no-fund \
        --ignore-scripts <"$wanted" >"$folder/log" 2>&1; then
        cp "$wanted" "$folder/installed"
    else
        say "no packages from npm ($folder/log): checks of the page that want them are skipped"
    fi
}

# For machines without terraform: the one from PyPI, under its own name.
name_terraform() {
    local folder
    folder="$(realpath "${CARGO_TARGET_DIR:-target}")/infra/bin"
    [ -d "$folder" ] || return 0
    printf '#!/bin/sh\nexec %s %s "$@"\n' "'$folder/python'" \
        "'$PWD/terraform/offline/terraform.py'" >"$folder/terraform"
    chmod +x "$folder/terraform"
}

if [[ "$purpose" != infra ]] && ! have cargo; then
    say "a Rust toolchain is missing: see https://rustup.rs (rust-version is in Cargo.toml)"
    exit 1
fi

packages=()
[ "$purpose" = infra ] || have_c_compiler || packages+=(gcc libc6-dev)
[ -s /etc/ssl/certs/ca-certificates.crt ] || packages+=(ca-certificates)
[[ "$purpose" == @(bench|sheet|infra|dist|container) ]] || have_postgres_server || packages+=(postgresql)
if [ "$purpose" = test ]; then
    have_node || packages+=(nodejs)
    have npm || packages+=(npm)
    have_browser || packages+=(chromium)
    have_pgbouncer || packages+=(pgbouncer)
    have_python || packages+=(python3 python3-venv)
    have ip || packages+=(iproute2)
fi

if [ "$purpose" = bench ]; then
    have go || packages+=(golang-go)
    for library in net image text; do
        [ -d "/usr/share/gocode/src/golang.org/x/$library" ] ||
            packages+=("golang-golang-x-$library-dev")
    done
    have_python || packages+=(python3 python3-venv)
    have ip || packages+=(iproute2)
    have wrk || packages+=(wrk)
fi

if [ "$purpose" = sheet ]; then
    have_browser || packages+=(chromium)
    have convert-im6.q16 || packages+=(imagemagick)
    have_python || packages+=(python3 python3-venv)
fi

if [ "$purpose" = dashboards ]; then
    { have prometheus && have promtool; } || packages+=(prometheus)
fi

if [[ "$purpose" == @(test|infra|boot) ]]; then
    have packer || packages+=(packer)
    have_python || packages+=(python3 python3-venv)
    have systemd-analyze || packages+=(systemd)
fi

if [ "$purpose" = boot ]; then
    have debootstrap || packages+=(debootstrap)
    have systemd-nspawn || packages+=(systemd-container)
    have ip || packages+=(iproute2)
fi

if [ "$purpose" = dist ]; then
    have_python || packages+=(python3 python3-venv)
    # The other machines' strip; zig links for them.
    case "${ARCH:-}" in
        amd64) have x86_64-linux-gnu-strip || packages+=(binutils-x86-64-linux-gnu) ;;
        arm64) have aarch64-linux-gnu-strip || packages+=(binutils-aarch64-linux-gnu) ;;
    esac
fi

if [ "$purpose" = container ]; then
    have buildah || packages+=(buildah)
    have debootstrap || packages+=(debootstrap)
fi

# Silent unless it fails.
apt() {
    local said
    said="$("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@" 2>&1)" || {
        tail -n 20 <<<"$said" >&2
        say "apt-get $* failed"
        exit 1
    }
}

install_packages() {
    if ! have apt-get; then
        say "missing: ${packages[*]} (Debian's names). Install them by this system's means."
        exit 1
    fi
    if [ "$(id -u)" = 0 ]; then
        as_root=()
    elif have sudo; then
        as_root=(sudo)
    else
        say "run as root: apt-get install ${packages[*]}"
        exit 1
    fi

    say "installing ${packages[*]}"
    apt update
    case " ${packages[*]} " in
        *" postgresql "*)
            # EveryTab runs its own server from the binaries: Debian's need not make and start one.
            apt install --no-install-recommends postgresql-common
            "${as_root[@]}" sed -i -E 's/^#?create_main_cluster *=.*/create_main_cluster = false/' \
                /etc/postgresql-common/createcluster.conf
            ;;
    esac
    apt install --no-install-recommends "${packages[@]}"
    case " ${packages[*]} " in
        *" pgbouncer "*)
            # Tests start their own: Debian's service need not run on this machine.
            if have systemctl; then
                "${as_root[@]}" systemctl --quiet disable --now pgbouncer 2>/dev/null || true
            fi
            ;;
    esac
    say "done"
}

[ ${#packages[@]} -eq 0 ] || install_packages
case "$purpose" in
    test)
        install_python_programs python scripts/python-requirements.txt
        install_python_programs infra terraform/offline/requirements.txt
        name_terraform
        install_node_packages
        ;;
    infra | boot)
        install_python_programs infra terraform/offline/requirements.txt
        [ "$purpose" = infra ] ||
            install_python_programs infra ansible/tests/requirements.txt -boot
        name_terraform
        ;;
    dist) install_python_programs dist-tools packaging/requirements.txt ;;
esac
