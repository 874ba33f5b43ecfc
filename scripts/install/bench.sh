#!/usr/bin/env bash
# Installs missing programs for the benchmarks, including the programs that we compare with.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh

need_build
need_program go golang-go
for library in net image text; do
    [ -d "/usr/share/gocode/src/golang.org/x/$library" ] ||
        packages+=("golang-golang-x-$library-dev")
done
need_python
need_program ip iproute2
need_program openssl
need_program wget
need_program wrk
install_missing
