# shellcheck shell=bash
# For benchmarks that also run other programs. The sourcing script must have set `folder`, which is
# kept: programs that were built or installed there are reused. If a program is unavailable, a
# message is printed and its variable is empty. PEERS=none skips all of them.

go_peer() {
    local source="${EVERYTAB_PEERS:-../shared/peers}/go/main.go"
    go="$folder/go-peer"
    if [ "${PEERS:-}" = none ]; then
        go=
    elif ! [ -f "$source" ] || ! command -v go >/dev/null; then
        say "the Go program is missing: set EVERYTAB_PEERS, and run scripts/install/bench.sh"
        go=
    elif [ ! -x "$go" ] || [ "$source" -nt "$go" ]; then
        cp --force "$source" "$folder/main.go"
        (cd "$folder" && GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$go" main.go)
    fi
}

# The packages have the form name==version.
python_with() {
    python=
    [ "${PEERS:-}" != none ] || return 0
    python="$folder/python/bin/python"
    [ "$(cat "$folder/python/installed" 2>/dev/null)" != "$*" ] || return 0
    rm -rf "$folder/python"
    if python3 -m venv "$folder/python" && "$folder/python/bin/pip" install --quiet \
        --disable-pip-version-check "$@" >"$folder/pip.log" 2>&1; then
        echo "$*" >"$folder/python/installed"
    else
        say "cannot install $*; see $folder/pip.log"
        python=
    fi
}

# Sets `node` to a directory in which Node.js finds this package (name@version) from npm.
node_with() {
    node=
    [ "${PEERS:-}" != none ] || return 0
    node="$folder/node"
    [ "$(cat "$node/installed" 2>/dev/null)" != "$1" ] || return 0
    rm -rf "$node"
    mkdir -p "$node"
    if npm install --prefix "$node" --no-fund --no-audit --ignore-scripts "$1" \
        >"$folder/npm.log" 2>&1; then
        echo "$1" >"$node/installed"
    else
        say "cannot install $1; see $folder/npm.log"
        node=
    fi
}

# Sets `crate` to a program that is built from this source file and one package (name, version
# and features) from crates.io.
crate_with() {
    local source="$1" name="$2" version="$3" features="$4"
    crate=
    [ "${PEERS:-}" != none ] || return 0
    crate="$folder/$name/target/release/peer"
    if [ -x "$crate" ] && [ ! "$source" -nt "$crate" ]; then return; fi
    mkdir -p "$folder/$name/src"
    cp "$source" "$folder/$name/src/main.rs"
    cat >"$folder/$name/Cargo.toml" <<END
[package]
name = "peer"
edition = "2024"
[dependencies]
$name = { version = "=$version", default-features = false, features = [$features] }
[workspace]
END
    if ! env -u CARGO_TARGET_DIR cargo build --quiet --release \
        --manifest-path "$folder/$name/Cargo.toml" >"$folder/$name.log" 2>&1; then
        say "cannot build $name; see $folder/$name.log"
        crate=
    fi
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
