#!/usr/bin/env bash
# Installs missing programs to check terraform/, packer/, ansible/ and the units: some in
# target/infra, Caddy in target/caddy, and Postgres 16 and 17 in target/node.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh
# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh

need_certificates
need_program packer
need_python
need_program systemd-analyze systemd
need_program npm
need_program nft nftables
need_postgres_server
install_missing
install_infra_programs
install_caddy
install_node_packages
