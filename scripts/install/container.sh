#!/usr/bin/env bash
# Installs missing programs to build the container: debootstrap and buildah.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh

need_program buildah
need_program debootstrap
install_missing
