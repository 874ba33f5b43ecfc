#!/usr/bin/env bash
# Installs what is missing to check terraform/, packer/, ansible/ and the units: packer, Python and
# systemd, and in target/infra what terraform/offline/requirements.txt names.
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
install_missing
install_infra_programs
