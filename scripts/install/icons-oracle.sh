#!/usr/bin/env bash
# Installs what is missing to compare icons with a browser's: a C compiler, Chromium, Node.js.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh

need_build
need_browser
need_program node nodejs
install_missing
