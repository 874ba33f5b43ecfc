#!/usr/bin/env bash
# Installs missing programs to check the dashboards: those for a demo, and Prometheus.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh
# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh

need_build
need_postgres_server
install_missing
install_prometheus
