#!/usr/bin/env bash
# Installs missing programs to compare JPEGs with libjpeg-turbo.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh

need_build
need_program cjpeg libjpeg-turbo-progs
need_program node nodejs
install_missing
