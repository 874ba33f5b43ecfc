# shellcheck shell=bash
# For the benches that run other programs beside ours. Who sources it has set `folder`, which stays:
# what is built or installed there is found again. Each program that cannot be had is told of, and
# its variable is empty.

# Sets `go` to the plain Go program, built anew where its source is newer.
go_peer() {
    local source="${EVERYTAB_PEERS:-../shared/peers}/go/main.go"
    go="$folder/go-peer"
    if ! [ -f "$source" ] || ! command -v go >/dev/null; then
        say "no Go peer (EVERYTAB_PEERS; scripts/install/bench.sh)"
        go=
    elif [ ! -x "$go" ] || [ "$source" -nt "$go" ]; then
        cp --force "$source" "$folder/main.go"
        (cd "$folder" && GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$go" main.go)
    fi
}

# Sets `python` to an interpreter that has just these packages (name==version) of PyPI.
python_with() {
    python="$folder/python/bin/python"
    [ "$(cat "$folder/python/installed" 2>/dev/null)" != "$*" ] || return 0
    rm -rf "$folder/python"
    if python3 -m venv "$folder/python" && "$folder/python/bin/pip" install --quiet \
        --disable-pip-version-check "$@" >"$folder/pip.log" 2>&1; then
        echo "$*" >"$folder/python/installed"
    else
        say "no $* ($folder/pip.log)"
        python=
    fi
}

# Sets `node` to a folder in which Node.js finds this package (name@version) of npm.
node_with() {
    node="$folder/node"
    [ "$(cat "$node/installed" 2>/dev/null)" != "$1" ] || return 0
    rm -rf "$node"
    mkdir -p "$node"
    if npm install --prefix "$node" --no-fund --no-audit --ignore-scripts "$1" \
        >"$folder/npm.log" 2>&1; then
        echo "$1" >"$node/installed"
    else
        say "no $1 ($folder/npm.log)"
        node=
    fi
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
