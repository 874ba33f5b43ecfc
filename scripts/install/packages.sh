# shellcheck shell=bash
# Functions that find out which Debian packages are missing, and install these, silently unless
# this fails. They need root or sudo, and otherwise print the command to run. Rust is only
# checked for.
#
# A script calls the need_* functions first, and then install_missing once.

OLDEST_POSTGRES=15
OLDEST_NODE=18
me=install
packages=()

need_rust() {
    have cargo || die "a Rust toolchain is missing: see https://rustup.rs" \
        "(rust-version is in Cargo.toml)"
}

# need_program PROGRAM [PACKAGE]: PACKAGE is the package's name if it differs from the program's.
need_program() {
    have "$1" || packages+=("${2:-$1}")
}

need_c_compiler() {
    { have cc && echo '#include <stdlib.h>' | cc -E -x c - >/dev/null 2>&1; } ||
        packages+=(gcc libc6-dev)
}

need_certificates() {
    [ -s /etc/ssl/certs/ca-certificates.crt ] || packages+=(ca-certificates)
}

need_postgres_server() {
    local program version
    for program in "${EVERYTAB_PG_BIN:-/nowhere}/postgres" /usr/lib/postgresql/*/bin/postgres \
        "$(command -v postgres || true)"; do
        [ -x "$program" ] && [ -x "$(dirname "$program")/initdb" ] || continue
        version="$("$program" --version | sed -E 's/.*\(PostgreSQL\) ([0-9]+).*/\1/')"
        [ "$version" -lt "$OLDEST_POSTGRES" ] || return 0
    done
    packages+=(postgresql)
}

need_node() {
    { have node && [ "$(node --version | sed -E 's/^v([0-9]+).*/\1/')" -ge "$OLDEST_NODE" ]; } ||
        packages+=(nodejs)
    need_program npm
}

have_browser() {
    have chromium-headless-shell || have chromium || have chromium-browser || have google-chrome
}
# Chromium without windows, because tests take half the CPU time in it.
need_browser() { need_program chromium-headless-shell; }

have_firefox() { have firefox-esr || have firefox; }
need_firefox() { have_firefox || packages+=(firefox-esr); }

have_pgbouncer() { have pgbouncer || [ -x /usr/sbin/pgbouncer ]; }
need_pgbouncer() { have_pgbouncer || packages+=(pgbouncer); }

need_python() {
    { have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null; } ||
        packages+=(python3 python3-venv)
}

need_build() {
    need_rust
    need_c_compiler
    need_certificates
}

# Runs apt silently, unless it fails.
apt() {
    local said
    said="$("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@" 2>&1)" || {
        tail -n 20 <<<"$said" >&2
        die "apt-get $* failed"
    }
}

# Sets `as_root` to the command with which apt runs, or prints how to install `packages` by
# hand.
need_apt() {
    have apt-get ||
        die "missing: ${packages[*]} (Debian's names). Install them with your package manager."
    if [ "$(id -u)" = 0 ]; then
        as_root=()
    elif have sudo; then
        as_root=(sudo)
    else
        die "run as root: apt-get install ${packages[*]}"
    fi
}

install_missing() {
    [ ${#packages[@]} -gt 0 ] || return 0
    need_apt
    say "installing ${packages[*]}"
    apt update
    case " ${packages[*]} " in
        *" postgresql "*)
            # EveryTab starts its own server from the installed binaries, so Debian need not
            # create one.
            apt install --no-install-recommends postgresql-common
            "${as_root[@]}" sed -i -E 's/^#?create_main_cluster *=.*/create_main_cluster = false/' \
                /etc/postgresql-common/createcluster.conf
            ;;
    esac
    apt install --no-install-recommends "${packages[@]}"
    case " ${packages[*]} " in
        *" pgbouncer "*)
            # Tests start their own PgBouncer.
            if have systemctl; then
                "${as_root[@]}" systemctl --quiet disable --now pgbouncer 2>/dev/null || true
            fi
            ;;
    esac
    say "done"
}
