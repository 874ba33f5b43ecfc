#!/usr/bin/env bash
# Installs missing programs to build packages for other machines (make dist), including a C
# compiler that links for old systems in target/dist-tools. ARCH=amd64|arm64 adds strip for this
# architecture.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/install/packages.sh
. scripts/install/packages.sh
# shellcheck source=scripts/install/programs.sh
. scripts/install/programs.sh

need_build
need_python
case "${ARCH:-}" in
    amd64) need_program x86_64-linux-gnu-strip binutils-x86-64-linux-gnu ;;
    arm64) need_program aarch64-linux-gnu-strip binutils-aarch64-linux-gnu ;;
esac
install_missing
install_python_programs dist-tools packaging/requirements.txt
