#!/usr/bin/env bash
# Installs missing programs to build EveryTab and to scan on this machine.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh

need_build
need_postgres_server
install_missing
