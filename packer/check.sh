#!/usr/bin/env bash
# Validates the template without an AWS account. Debian's packer 1.6 knows neither
# required_plugins nor the lines between the marks "packer>=1.7: begin" and "end", so it
# validates a copy without these.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

cp -r "$here" "$work/packer"
cp -r "$here/../ansible" "$work/ansible"
version="$(packer version | sed -nE '1s/.*v([0-9]+)\.([0-9]+).*/\1 \2/p')"
read -r major minor <<<"$version"
[ "$(sort <<<"$(grep -ohE 'packer>=1.7: (begin|end)' "$here"/*.hcl)" | uniq -c | awk '{print $1}' |
    sort -u | wc -l)" = 1 ] || { echo 'a begin or end mark lacks its counterpart'; exit 1; }
[ "$(grep -c 'source *= "github.com/' "$here/plugins.pkr.hcl")" = \
    "$(grep -cE '^ +version *= "= [0-9]+\.[0-9]+\.[0-9]+"$' "$here/plugins.pkr.hcl")" ] ||
    { echo "plugins.pkr.hcl: each plugin needs an exact version, such as \"= 1.3.9\""; exit 1; }
packer fmt -check "$here" >/dev/null || { echo "not formatted: packer fmt packer"; exit 1; }
if [ "$major" = 1 ] && [ "$minor" -lt 7 ]; then
    rm "$work/packer/plugins.pkr.hcl"
    sed -i '/packer>=1.7: begin/,/packer>=1.7: end/d' "$work"/packer/*.hcl
else
    packer init "$work/packer"
fi
touch "$work/everytab.deb"
zeros="$(printf '0%.0s' {1..64})"
touch "$work/everytab-local"
# PACKAGE and OPERATOR are relative to the directory in which packer runs.
validate() {
    (cd "$work" && packer validate -var "package=$1" -var "operator=$2" \
        -var "ssm_agent_url=https://example.com/x.deb" -var "ssm_agent_sha256=$zeros" \
        -var "rds_ca_sha256=$zeros" packer)
}
validate everytab.deb everytab-local
# packer must report a missing file before it starts an instance.
for files in "none.deb everytab-local" "everytab.deb none"; do
    # shellcheck disable=SC2086
    ! said="$(validate $files 2>&1)" && grep -q "File not found" <<<"$said" ||
        { echo "packer does not report a missing file of: $files: $said"; exit 1; }
done
