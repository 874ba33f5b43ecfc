#!/usr/bin/env bash
# Checks terraform/, packer/ and ansible/ without a cloud account, a registry or root.
#
#   scripts/infra/check.sh [--only STEP]... [--folder DIR]      (make infra-check)
#
# Some steps: service creates and destroys a crawl service. page checks that CloudFront sends the
# page's policy. units checks each unit's sandbox. starting checks when the console migrates.
# leaving checks with which exit codes a machine leaves its group. stopping checks when the console
# stops Postgres and itself. counting checks the counts that a crawl service's console publishes.
# fence checks which addresses the HTTP service's user can reach, and needs root. lockout checks
# that the owner can still sign in if the workers use tokens. runbook checks that each command in
# docs/scan.md, docs/crawl.md, and "In the cloud" in docs/fleet.md exists.
#
# --folder checks another copy, so that scripts/infra/mutants.sh can show that mistakes are found.
# If terraform is not installed, the package from PyPI is used. Its provider is
# terraform/offline/mock_provider.py.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

STEPS=(format validate test phases service lint policy page packer ansible units starting leaving
    stopping counting fence proxy lockout runbook)
# One drop-in defines the sandbox of every service.
SANDBOX=(CapabilityBoundingSet= LockPersonality=yes MemoryDenyWriteExecute=yes NoNewPrivileges=yes
    PrivateDevices=yes PrivateTmp=yes ProtectClock=yes ProtectControlGroups=yes ProtectHome=yes
    ProtectHostname=yes ProtectKernelLogs=yes ProtectKernelModules=yes ProtectKernelTunables=yes
    ProtectProc=invisible ProtectSystem=strict RestrictNamespaces=yes RestrictRealtime=yes
    RestrictSUIDSGID=yes SystemCallArchitectures=native SystemCallFilter=@system-service
    SystemCallFilter=~@privileged UMask=0077)
TOOLS="$target/infra"
folder="$PWD"
only=()
while [ $# -gt 0 ]; do
    case "$1" in
        --only) only+=("${2:?}"); shift 2 ;;
        --folder) folder="$(realpath "${2:?}")"; shift 2 ;;
        *) echo "usage: scripts/infra/check.sh [--only STEP]... [--folder DIR]" >&2; exit 2 ;;
    esac
done
[ ${#only[@]} -gt 0 ] || only=("${STEPS[@]}")

export PATH="$TOOLS/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 CHECKPOINT_DISABLE=1
unset TF_CLI_CONFIG_FILE
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

python() { "$TOOLS/bin/python" "$@"; }
terraform="$(command -v terraform || echo "$TOOLS/bin/terraform")"

# terraform writes next to its input, so it gets a copy.
in_copy() {
    if [ ! -d "$work/terraform" ]; then
        # The alarms are generated from the rules in telemetry/.
        cp -r "$folder/terraform" "$folder/telemetry" "$work/"
        (cd "$work/terraform" && with_provider "$terraform" init -backend=false -input=false \
            -no-color >"$work/init.log" 2>&1) || { cat "$work/init.log"; return 1; }
    fi
    (cd "$work/terraform" && with_provider "$@")
}
with_provider() { python "$folder/terraform/offline/mock_provider.py" -- "$@"; }

check_format() { "$terraform" fmt -check -recursive -diff "$folder/terraform"; }
check_validate() { in_copy "$terraform" validate -no-color; }
check_test() { in_copy "$terraform" test -no-color; }
check_phases() {
    in_copy "$TOOLS/bin/python" offline/phases.py "$terraform" "$folder/packaging" months
}
check_service() {
    # This step starts without the resources of the previous one.
    rm -f "$work"/terraform/terraform.tfstate*
    in_copy "$TOOLS/bin/python" offline/phases.py "$terraform" "$folder/packaging" service
}
check_lint() { (cd "$folder" && python terraform/offline/lint.py terraform); }
check_policy() {
    python -m checkov.main --directory "$folder/terraform" --framework terraform --compact --quiet \
        --skip-download
}
check_page() {
    local in_page in_header
    in_page="$(grep -oP 'Content-Security-Policy" content="\K[^"]+' site/index.html)"
    in_header="$(grep -oP 'content_security_policy = "\K[^"]+' \
        "$folder/terraform/modules/hosting/cloudfront.tf")"
    [ "$in_header" = "$in_page; frame-ancestors 'none'" ] ||
        { echo "CloudFront sends another policy than the page has:"; echo "$in_header"; return 1; }
}
check_packer() { "$folder/packer/check.sh"; }
check_ansible() {
    (cd "$folder/ansible" && ANSIBLE_HOME="$work/ansible" ansible-lint --offline --nocolor -q)
}

# systemd reports errors on stderr, but its exit status is 0. The programs need not be installed
# here.
check_units() {
    local units=("$folder"/packaging/systemd/*.{service,target,timer}) said unit line
    local sandbox="$folder/packaging/systemd/everytab-.service.d/10-sandbox.conf"
    said="$(systemd-analyze verify --man=no "${units[@]}" 2>&1 | grep everytab |
        grep -vE 'Command /usr/(bin|lib)/everytab.* is not executable' || true)"
    [ -z "$said" ] || { echo "$said"; return 1; }
    for line in "${SANDBOX[@]}"; do
        grep -qxF "$line" "$sandbox" || { echo "$sandbox: no $line"; return 1; }
    done
    for unit in "$folder"/packaging/systemd/*.service; do
        # systemd rates values below 2 as OK. The threshold is in tenths.
        systemd-analyze security --offline=true --no-pager --threshold=20 "$unit" \
            >"$work/security" ||
            { tail -n 1 "$work/security"; return 1; }
        # A unit may allow further system calls, but must not change any other sandbox setting.
        for line in "${SANDBOX[@]}"; do
            ! grep -E "^${line%%=*}=" "$unit" | grep -vE '^SystemCallFilter=[^~]' ||
                { echo "$unit sets ${line%%=*}, which only the sandbox may set"; return 1; }
        done
    done
    for script in "$folder"/packaging/lib/*; do
        case "$(head -n 1 "$script")" in
            */sh) sh -n "$script" || return 1 ;;
            */python3)
                python -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script" ||
                    return 1 ;;
            */nft*) ;;
            *) echo "$script: neither sh, python3 nor nft"; return 1 ;;
        esac
    done
    for line in worker:fence crawl:fence api:fence api:fence-api; do
        grep -qxF "ExecStartPre=+/usr/lib/everytab/${line#*:}" \
            "$folder/packaging/systemd/everytab-${line%:*}.service" ||
            { echo "everytab-${line%:*} starts without ${line#*:}"; return 1; }
    done
    # The fence must not let any service's user reach the metadata service.
    for line in worker:everytab crawl:everytab-crawl api:everytab-api; do
        grep -qxF "User=${line#*:}" "$folder/packaging/systemd/everytab-${line%:*}.service" ||
            { echo "everytab-${line%:*} is not user ${line#*:}"; return 1; }
        ! grep -E "skuid.*[ {,]${line#*:}[ },]" "$folder/packaging/lib/fence.nft" ||
            { echo "${line#*:} can reach the metadata service"; return 1; }
    done
    # A stopped service counts as successful, and invalid settings are not retried.
    for line in SuccessExitStatus=4 RestartPreventExitStatus=2 Restart=on-failure \
        KillSignal=SIGTERM; do
        for unit in crawl api; do
            grep -qxF "$line" "$folder/packaging/systemd/everytab-$unit.service" ||
                { echo "everytab-$unit: no $line"; return 1; }
        done
    done
    ! grep -q leave-group "$folder/packaging/systemd/everytab-crawl.service" ||
        { echo "a crawler takes its machine out of the group"; return 1; }
}

# Runs the real script with fake programs that log their arguments, for a database with or
# without a schema, and with this many open scans.
start() {
    (cd "$work" && rm -f asked &&
        env -i PATH="$work/database:$PATH" DATABASE_URL=x HAS_SCHEMA="$1" OPEN="$2" \
            EVERYTAB_MIGRATE_RUNNING_SCAN="${3-}" sh "$folder/packaging/lib/start-scan" \
            >/dev/null 2>&1 && tr '\n' , <asked)
}
check_starting() {
    local want case
    mkdir -p "$work/database"
    cat >"$work/database/psql" <<'PSQL'
#!/bin/sh
case "$(cat)" in
    *to_regclass*) echo "$HAS_SCHEMA" ;;
    *count*) [ "$HAS_SCHEMA" = t ] && echo "$OPEN" ;;
esac
PSQL
    printf '#!/bin/sh\necho "$@" >>asked\n' >"$work/database/everytab-worker"
    chmod +x "$work/database"/*
    for case in "f 0" "t 0" "t 1 true"; do
        # shellcheck disable=SC2086
        [ "$(start $case)" = "migrate,scan start --once," ] ||
            { echo "schema and open scans $case: it does not migrate"; return 1; }
    done
    want="scan start --once,"
    [ "$(start t 1)" = "$want" ] && [ "$(start t 1 false)" = "$want" ] ||
        { echo "it changes the schema under a running scan"; return 1; }
}

# Runs the real leave-group script with fake programs.
leave() {
    (cd "$work" && rm -f asked told &&
        env -i PATH="$work/fake:$PATH" EXIT_CODE="$1" EXIT_STATUS="$2" EVERYTAB_FLEET="${3-fleet}" \
            AWS_ENDS="${4-0}" SETTINGS="$work/settings" \
            sh "$folder/packaging/lib/leave-group" >"$work/left" 2>&1)
}
check_leaving() {
    local worker="$folder/packaging/systemd/everytab-worker.service" line end want
    mkdir -p "$work/fake"
    printf '#!/bin/sh\necho i-0123456789abcdef0\n' >"$work/fake/curl"
    printf '#!/bin/sh\necho "$@" >>asked\nexit "$AWS_ENDS"\n' >"$work/fake/aws"
    printf '#!/bin/sh\n' >"$work/fake/sleep"
    # A host that leaves also sends its journal, so systemctl has a separate log.
    printf '#!/bin/sh\necho "$@" >>told\n' >"$work/fake/systemctl"
    chmod +x "$work/fake"/*
    # A drain is not a failure. Everything except invalid settings is retried.
    for line in SuccessExitStatus='3 4' RestartPreventExitStatus=2 Restart=on-failure \
        ExecStopPost=-+/usr/lib/everytab/leave-group; do
        grep -qxF "$line" "$worker" || { echo "$worker: no $line"; return 1; }
    done
    want="autoscaling terminate-instance-in-auto-scaling-group --instance-id i-0123456789abcdef0"
    want+=" --should-decrement-desired-capacity --no-cli-pager"
    for end in exited:0 exited:3; do
        leave "${end%:*}" "${end#*:}" && [ "$(cat "$work/asked")" = "$want" ] ||
            { echo "$end: it does not leave: $(cat "$work/left" "$work/asked")"; return 1; }
    done
    for end in exited:1 exited:2 exited:4 exited:101 killed:KILL dumped:ABRT exited:; do
        leave "${end%:*}" "${end#*:}" && [ ! -e "$work/asked" ] ||
            { echo "$end: the machine leaves"; return 1; }
    done
    leave exited 0 '' && [ ! -e "$work/asked" ] ||
        { echo "it leaves a group without a name"; return 1; }
    ! leave exited 0 fleet 1 && [ "$(wc -l <"$work/asked")" = 8 ] && grep -q money "$work/left" &&
        grep -qx "poweroff --no-block" "$work/told" ||
        { echo "AWS rejects it, and the machine keeps running: $(cat "$work/left")"; return 1; }
    mkdir -p "$work/settings"
    touch "$work/settings/scan.env"
    leave exited 0 && [ ! -e "$work/asked" ] && [ ! -e "$work/told" ] ||
        { echo "the console leaves"; return 1; }
    rm "$work/settings/scan.env"
}

# Runs the console's real stop script with fake programs, for a scan that reached this state
# some seconds ago.
stop() {
    (cd "$work" && rm -f asked &&
        env -i PATH="$work/console:$PATH" STATE="$1" \
            ENDED="$(date -u -d "@$(($(date +%s) - $2))" +%Y-%m-%dT%H:%M:%S+00:00)" \
            EVERYTAB_STOP_WHEN="$3" PUBLISHED="${4-1}" BACKUP="${5-}" BUSY="${6-}" FAILS="${7-}" \
            DATABASE_STATE="${8-}" \
            EVERYTAB_DATABASE=db EVERYTAB_ALERTS=topic EVERYTAB_PRIVATE=s3://kept \
            RUNTIME_FOLDER="$work/console" sh "$folder/packaging/lib/stop-when-done" \
            >"$work/stopped" 2>&1
        ended=$?
        cut -d ' ' -f 1,2 asked 2>/dev/null | grep -v '^s3api' | tr '\n' ,
        return $ended)
}
check_stopping() {
    local all="sns publish,rds stop-db-instance,ec2 stop-instances," case said
    mkdir -p "$work/console"
    cat >"$work/console/everytab-worker" <<'WORKER'
#!/bin/sh
case "$2" in
    list) echo "{\"state\": \"$STATE\", \"finished_at\": \"$ENDED\", \"crawl\": \"CC\"}" ;;
    status) echo "{\"stages\": [{\"kind\": \"icon\", \"done\": 9},
                  {\"kind\": \"publish\", \"done\": $PUBLISHED}]}" ;;
esac
WORKER
    cat >"$work/console/aws" <<'AWS'
#!/bin/sh
echo "$@" >>asked
case "$*" in
    # The first backup was interrupted, the second one is complete. AWS prints nothing for an empty
    # list.
    "s3api "*" --prefix backups/ --delimiter / "*) [ -z "$BACKUP" ] ||
        echo '{"CommonPrefixes": [{"Prefix": "backups/w/"}, {"Prefix": "backups/x/"}]}' ;;
    "s3api "*" --prefix backups/w/backup.json "*) ;;
    "s3api "*" --prefix backups/x/backup.json "*)
        echo "{\"Contents\": [{\"Key\": \"backups/x/backup.json\", \"LastModified\": \"$BACKUP\"},
            {\"Key\": \"backups/x/backup.json.old\", \"LastModified\": \"2099\"}]}" ;;
    "s3api "*) echo "lists each object of the backups" >&2; exit 1 ;;
    "rds stop-db-instance "*) [ -z "$FAILS" ] || { echo "$FAILS"; exit 1; } ;;
    "rds describe-db-instances "*)
        [ -n "$DATABASE_STATE" ] || exit 1
        echo "$DATABASE_STATE" ;;
esac
AWS
    cat >"$work/console/systemctl" <<'SYSTEMCTL'
#!/bin/sh
case "$BUSY" in "") ;; fails) exit 1 ;; *) echo run-u1.service ;; esac
SYSTEMCTL
    printf '#!/bin/sh\necho i-0123456789abcdef0\n' >"$work/console/curl"
    chmod +x "$work/console"/*
    # The console must keep running: too early, not finished, not published, no new backup, or a
    # command is running.
    for case in "finished 3000 published" "running 4000 published" "cancelled 4000 published" \
        "finished 4000 published 0" "finished 4000 never" "finished 4000 backed-up" \
        "finished 4000 backed-up 1 2026-01-01T00:00:00+00:00" "finished 4000 published 1 - busy"; do
        # shellcheck disable=SC2086
        said="$(stop $case)" && [ -z "$said" ] && [ ! -e "$work/console/mailed" ] ||
            { echo "$case: it stops: $said $(cat "$work/stopped")"; return 1; }
    done
    for case in "finished 4000 published" "finished_with_discards 4000 published" \
        "finished 4000 backed-up 1 2099-01-01T00:00:00.000Z"; do
        # shellcheck disable=SC2086
        said="$(stop $case)" && [ "$said" = "$all" ] && rm "$work/console/mailed" ||
            { echo "$case: it does not stop: $said $(cat "$work/stopped")"; return 1; }
    done
    ! said="$(stop finished 4000 published 1 - fails)" && [ -z "$said" ] ||
        { echo "it does not know what runs, and stops: $said $(cat "$work/stopped")"; return 1; }
    # AWS refuses once. The next run continues without another mail, unless a command is running by
    # then.
    ! said="$(stop finished 4000 published 1 '' '' Busy)" && grep -q money "$work/stopped" &&
        [ "$said" = "sns publish,rds stop-db-instance," ] ||
        { echo "it does not report the failure: $said $(cat "$work/stopped")"; return 1; }
    said="$(stop broken 0 published 1 '' busy)" && [ -z "$said" ] ||
        { echo "a command is running, and it continues: $said $(cat "$work/stopped")"; return 1; }
    # An empty state means that AWS does not report one.
    for case in modifying backing-up upgrading starting ''; do
        ! said="$(stop broken 0 published 1 '' '' InvalidDBInstanceState "$case")" &&
            [ "$said" = "rds stop-db-instance,rds describe-db-instances," ] ||
            { echo "Postgres is $case: it stops: $said $(cat "$work/stopped")"; return 1; }
    done
    for case in stopping stopped; do
        said="$(stop broken 0 published 1 '' '' InvalidDBInstanceState "$case")" &&
            [ "$said" = "rds stop-db-instance,rds describe-db-instances,ec2 stop-instances," ] ||
            { echo "Postgres is $case: it stays: $said $(cat "$work/stopped")"; return 1; }
    done
    grep -q -- '--instance-ids i-0123456789abcdef0' "$work/asked" ||
        { echo "it stops another machine: $(cat "$work/asked")"; return 1; }
}

check_counting() { python scripts/infra/counting "$folder"; }
check_fence() { scripts/infra/fence.sh "$folder"; }
check_proxy() { scripts/infra/proxy.sh "$folder"; }
check_lockout() { python scripts/infra/lockout "$folder" "$target/node"; }
check_runbook() { python scripts/infra/runbook "$folder"; }

failures=0
for step in "${only[@]}"; do
    began="$(date +%s%N)"
    if said="$("check_$step" 2>&1)"; then
        word=ok
    else
        word=FAILED
        failures=$((failures + 1))
    fi
    printf '%-9s %-6s %5d ms\n' "$step" "$word" $((($(date +%s%N) - began) / 1000000))
    if [ "$word" = ok ]; then
        grep '^skipped:' <<<"$said" || true
    else
        sed 's/^/    /' <<<"$said"
    fi
done
echo "$((${#only[@]} - failures)) passed, $failures failed"
[ "$failures" = 0 ]
