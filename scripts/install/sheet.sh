#!/usr/bin/env bash
# Installs missing programs to inspect icons.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh

need_build
need_browser
need_program convert-im6.q16 imagemagick
need_python
install_missing
