#!/usr/bin/env bash
# Installs missing programs to boot the fleet's image (make infra-boot), including those in
# ansible/tests/requirements.txt.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh
# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh

need_build
need_postgres_server
need_program packer
need_python
need_program systemd-analyze systemd
need_program debootstrap
need_program systemd-nspawn systemd-container
need_program ip iproute2
install_missing
install_infra_programs
install_python_programs infra ansible/tests/requirements.txt -boot
