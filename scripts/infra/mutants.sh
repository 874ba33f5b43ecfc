#!/usr/bin/env bash
# Tests that `make infra-check` finds mistakes. Each line in the list is a mistake, which is made in
# a copy, and the step that must find it. If a mistake is not found, or changes nothing, this fails.
#
#   scripts/infra/mutants.sh [WORD]       only mistakes whose line contains WORD
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

CHECKED=(terraform packer ansible packaging telemetry docs coordinator-sql Makefile)

# step | file | sed expression
mutants() {
    cat <<'LIST'
format   | terraform/main.tf | s/  name  */  name = /
validate | terraform/modules/fleet/database.tf | s/storage_encrypted /storage_encypted /
validate | terraform/modules/fleet/workers.tf | s/metadata_options {/metadata_option {/
validate | terraform/modules/fleet/network.tf | s/"aws_internet_gateway"/"aws_internet_gatway"/
validate | terraform/modules/fleet/network.tf | /cidr_block           = var/d; s/resource "aws_vpc" "this" {/&\n  cidr_blocks = []/
validate | terraform/modules/fleet/database.tf | /  instance_class = /d
validate | terraform/modules/hosting/cloudfront.tf | /signing_protocol /d
validate | terraform/modules/hosting/outputs.tf | s/distribution.site.id/distribution.site.ident/
validate | terraform/modules/scanning/iam.tf | s/module.archive.arn/module.archive.name_arn/
validate | terraform/main.tf | s/  ami_id  .*/  ami = var.ami_id/
validate | terraform/outputs.tf | s/module.hosting.site_address/module.scanning.archive_bucket/
validate | terraform/modules/scanning/user_data.tf | s/tostring(var.requests/to_string(var.requests/
validate | terraform/modules/hosting/cloudfront.tf | s/"sigv4"/"sigv5"/
validate | terraform/modules/hosting/cloudfront.tf | s/"redirect-to-https"/"redirect-https"/
validate | terraform/modules/fleet/workers.tf | s/http_tokens                 = "required"/http_tokens = "require"/
validate | terraform/modules/fleet/workers.tf | s/volume_type           = "gp3"/volume_type = "gp4"/
validate | terraform/modules/fleet/network.tf | s/"Gateway"/"Gatway"/
validate | terraform/modules/hosting/budget.tf | s/"MONTHLY"/"MONTHS"/
validate | terraform/modules/fleet/database.tf | s/  port           = 5432/&\n  endpoint = "x"/
test     | terraform/modules/fleet/workers.tf | s/http_tokens                 = "required"/http_tokens = "optional"/
test     | terraform/modules/fleet/database.tf | s/publicly_accessible    = false/publicly_accessible = true/
test     | terraform/modules/fleet/database.tf | s/"rds.force_ssl"   = { value = "1"/"rds.force_ssl" = { value = "0"/
test     | terraform/modules/fleet/database.tf | s/manage_master_user_password         = true/password = "secret"/
test     | terraform/modules/fleet/network.tf | s/referenced_security_group_id = .*/cidr_ipv4 = "0.0.0.0\/0"/
phases   | terraform/modules/scanning/iam.tf | s/"s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"/"s3:*"/
phases   | terraform/modules/scanning/iam.tf | s/Resource = local.fleet_arn/Resource = "*"/
phases   | terraform/modules/fleet/iam.tf | /Condition = { StringEquals = { "cloudwatch/d
phases   | terraform/modules/scanning/fleet.tf | s/min_size              = 0/min_size = 1/
test     | terraform/modules/fleet/workers.tf | s/"price-capacity-optimized"/"lowest-price"/
test     | terraform/modules/fleet/user_data.tf | s/#cloud-config/#cloud-conf/
test     | terraform/modules/fleet/user_data.tf | s/permissions = "0640"/permissions = "0644"/
test     | terraform/modules/hosting/cloudfront.tf | s/enable_accept_encoding_brotli = true/enable_accept_encoding_brotli = false/
test     | terraform/modules/hosting/cloudfront.tf | s/min_ttl     = 1/min_ttl     = 0/
test     | terraform/modules/bucket/main.tf | s/expired_object_delete_marker = true/days = 30/
test     | terraform/modules/bucket/main.tf | s/block_public_policy     = true/block_public_policy = false/
test     | terraform/variables.tf | s/var.scanning || var.worker_count == 0/(var.worker_count == var.worker_count)/
test     | terraform/variables.tf | s/length(distinct(var.instance_types)) >= 4/(var.instance_types == var.instance_types)/
test     | terraform/modules/fleet/workers.tf | /initial_lifecycle_hook {/,/^  }/d
test     | terraform/modules/fleet/workers.tf | s/capacity_rebalance      = true/capacity_rebalance = false/
test     | terraform/modules/fleet/workers.tf | s/_shutdown_behavior = "terminate"/_shutdown_behavior = "stop"/
test     | terraform/modules/fleet/workers.tf | s/delete_on_termination = "true"/delete_on_termination = "false"/
test     | terraform/modules/fleet/workers.tf | s/encrypted             = "true"/encrypted = "false"/
test     | terraform/modules/fleet/workers.tf | s/hop_limit = 1/hop_limit = 2/
phases   | terraform/modules/scanning/fleet.tf | s/protected  *= false/protected = true/
test     | terraform/modules/fleet/database.tf | s/iam_database_authentication_enabled = true/iam_database_authentication_enabled = false/
phases   | terraform/modules/scanning/iam.tf | s/"s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"/&, "s3:DeleteObject"/
phases   | terraform/modules/fleet/iam.tf | s/Action   = "rds-db:connect"/Action = "rds-db:*"/
test     | terraform/modules/hosting/budget.tf | /dynamic "notification"/,/^  }/d
test     | terraform/modules/hosting/cloudfront.tf | s/signing_behavior  *= "always"/signing_behavior = "no-override"/
test     | terraform/modules/scanning/observability.tf | s/alarm_actions       = \[.*/alarm_actions = []/
phases   | terraform/modules/hosting/budget.tf | /resource "aws_budgets_budget"/,/^}/d
phases   | terraform/modules/hosting/budget.tf | s/subscriber_email_addresses = .*/subscriber_email_addresses = []/
phases   | terraform/modules/hosting/budget.tf | s/tostring(var.monthly_budget_usd)/tostring(var.monthly_budget_usd + 0)\n  budget_type = "USAGE"/; /budget_type  = "COST"/d
phases   | terraform/modules/hosting/main.tf | s/Principal = { Service = "cloudfront.amazonaws.com" }/Principal = "*"/
phases   | terraform/modules/hosting/main.tf | /Condition = { StringEquals = { "AWS:SourceArn"/d
phases   | terraform/modules/hosting/main.tf | s/Action    = "s3:GetObject"/Action = "s3:*"/
phases   | terraform/modules/hosting/logs.tf | s/Principal = { Service = "delivery.logs.amazonaws.com" }/Principal = { AWS = "*" }/
phases   | terraform/modules/bucket/main.tf | s/Effect    = "Deny"/Effect = "Allow"/
phases   | terraform/modules/bucket/main.tf | s/"aws:SecureTransport" = "false"/"aws:SecureTransport" = "true"/
phases   | terraform/modules/bucket/main.tf | s/restrict_public_buckets = true/restrict_public_buckets = false/
phases   | terraform/modules/fleet/iam.tf | s/Principal = { Service = "ec2.amazonaws.com" }/Principal = { AWS = "*" }/
phases   | terraform/modules/fleet/iam.tf | s/^resource "aws_iam_instance_profile" "machine" {/resource "aws_iam_role_policy_attachment" "all" {\n  role = aws_iam_role.machine[var.workers.machine].name\n  policy_arn = "arn:aws:iam::aws:policy\/AmazonSSMManagedInstanceCore"\n}\n\n&/
phases   | terraform/modules/scanning/iam.tf | s/"${local.kept}\/backups\/\*"/"${local.kept}\/*"/
phases   | terraform/modules/fleet/iam.tf | s/dbuser:${aws_db_instance.this.resource_id}\/${process.user}/*/
phases   | terraform/modules/scanning/user_data.tf | 0,/sslmode=verify-full/s//sslmode=require/
phases   | terraform/modules/scanning/user_data.tf | s/everytab_owner@${local.database}.*"/everytab_owner@${local.database}"/
phases   | terraform/modules/fleet/network.tf | s/resource "aws_security_group" "database" {/resource "aws_vpc_security_group_ingress_rule" "ssh" {\n  security_group_id = aws_security_group.worker.id\n  cidr_ipv4 = "0.0.0.0\/0"\n  ip_protocol = "tcp"\n  from_port = 22\n  to_port = 22\n}\n\n&/
phases   | terraform/modules/fleet/network.tf | s/referenced_security_group_id = each.value$/cidr_ipv4 = "10.0.0.0\/8"/
phases   | terraform/modules/scanning/observability.tf | s/alarm_actions       = \[var.alerts_topic_arn\]/&\n  ok_actions = [var.alerts_topic_arn]/
phases   | telemetry/alerts.yml | s/EveryTab Discarded/EveryTab Discards/
phases   | telemetry/alerts.yml | s/MinutesStuck > 2/MinutesStuck > 20/
phases   | telemetry/alerts.yml | s/Workers < 1 for 10/Workers < 1 for 60/
phases   | telemetry/alerts.yml | s/Watching absent for 10/Watching absent for 60/
phases   | telemetry/alerts.yml | s/HoursSinceEnd > 1/HoursSinceEnd > 5/
phases   | telemetry/alerts.yml | s/HoursSinceEnd > 1/HoursSinceEnd < 1/
phases   | telemetry/alerts.yml | s/UnreachedPercent > 50/UnreachedPercent > 5/
phases   | packaging/lib/publish-counts | s/ == mark and workers > 0/ == mark/
phases   | packaging/lib/publish-counts | s/0 if waiting else MINUTES_OF_LONG_JOBS/0/
phases   | packaging/lib/publish-counts | s/> sum(one\["leased"\].*/> 0/
phases   | packaging/lib/publish-counts | s/"percent": percent/"percent": None/
phases   | packaging/lib/publish-counts | /if ended < before/,+1d
phases   | packaging/lib/publish-counts | s/if runs:/if True:/
phases   | terraform/modules/scanning/observability.tf | s/metric_name = "GroupInServiceInstances"/metric_name = "GroupStandbyInstances"/
phases   | terraform/modules/scanning/observability.tf | s/metric = "Workers", minutes = 30/metric = "Works", minutes = 30/
phases   | terraform/modules/scanning/observability.tf | s/metric = "Workers", minutes = var/metric = "Outstanding", minutes = var/
phases   | terraform/modules/scanning/observability.tf | s/FILL(counts, 0) > 0/FILL(counts, 1) > 0/
phases   | terraform/modules/scanning/observability.tf | s/"CPUCreditBalance"/"CPUCredits"/
phases   | terraform/modules/scanning/observability.tf | s/dimensions          = { Fleet = local.fleet_name }/dimensions = { Group = local.fleet_name }/
phases   | terraform/modules/scanning/user_data.tf | s/EVERYTAB_NAMESPACE = local.namespace/EVERYTAB_NAMESPACE = "Other"/
phases   | terraform/modules/fleet/workers.tf | s/\["GroupInServiceInstances", /["GroupMinSize", /
phases   | packaging/lib/publish-counts | s/"Discarded":/"Discards":/
phases   | terraform/main.tf | s/  monthly_budget_usd    = .*/  monthly_budget_usd = var.scanning ? 50 : var.monthly_budget_usd/
phases   | terraform/main.tf | s/  count  = var.scanning ? 1 : 0/  count = 1/
phases   | terraform/modules/fleet/workers.tf | s/^  lifecycle {/&\n    ignore_changes = [desired_capacity, max_size]/
phases   | terraform/main.tf | s/var.log_retention_days$/var.scanning ? 7 : 30/
phases   | terraform/modules/scanning/console.tf | s/  count = var.console ? 1 : 0/  count = 0/
phases   | terraform/modules/scanning/user_data.tf | s/    EVERYTAB_ROLE = "publish"/&\n    EVERYTAB_EXIT_WHEN_DONE = "true"/
phases   | terraform/modules/scanning/user_data.tf | s/"index,warc,icons,bundles"/"all"/
phases   | terraform/modules/scanning/user_data.tf | 0,/        "token.env"/s//        "scan.env" = { values = local.scan_environment, owner = "root:everytab-owner" }\n&/
phases   | terraform/modules/scanning/user_data.tf | /EVERYTAB_CONTACT /d
phases   | terraform/modules/scanning/iam.tf | /^          "s3:DeleteObject",$/d; s/"s3:GetObject", "s3:PutObject", "s3:DeleteObject"\]/"s3:GetObject"]/
phases   | terraform/modules/scanning/iam.tf | s/"${local.site}\/scans\/\*"/"${local.site}\/*"/
phases   | terraform/modules/scanning/iam.tf | s/"${local.archive}\/archive\/\*"/"${local.archive}\/*"/
phases   | terraform/modules/scanning/iam.tf | 0,/Resource = var.signing_secret_arn/s//Resource = module.fleet.database.secret/
phases   | terraform/modules/scanning/iam.tf | s/machine     = "console"/machine = "worker"/
phases   | terraform/modules/scanning/fleet.tf | s/Resource = flatten(.*/Resource = "*"/
phases   | terraform/modules/fleet/network.tf | s/    time     = .*/&\n    smtp = { protocol = "tcp", port = 25, what = "Mail" }/
phases   | terraform/modules/fleet/database.tf | $a resource "aws_cloudwatch_log_group" "database" {\n  name = "/aws/rds/instance/${var.name}-x/postgresql"\n}
phases   | terraform/modules/fleet/database.tf | /"tcp_keepalives_idle" /d
phases   | terraform/main.tf | s/condition     = var.scanning || var.teardown == .*/condition = var.scanning || true/
phases   | terraform/main.tf | s/condition     = !var.scanning || var.crawl == .*/condition = !var.scanning || true/
phases   | terraform/modules/fleet/workers.tf | s/aws_route_table_association.public, aws_vpc_endpoint.s3,/aws_vpc_endpoint.s3,/
phases   | terraform/modules/scanning/observability.tf | s/, aws_autoscaling_policy.stop.arn\]/]/
phases   | terraform/modules/scanning/observability.tf | s/scaling_adjustment     = 0/scaling_adjustment = 1/
phases   | telemetry/alerts.yml | s/AWS\/RDS FreeStorageSpace/AWS\/RDS CPUUtilization/
phases   | terraform/modules/fleet/observability.tf | s/"CPUSurplusCreditBalance"$/"CPUCreditBalance"/
phases   | terraform/modules/scanning/iam.tf | s/"aws:ResourceTag\/Name" = local.console_name/"aws:ResourceTag\/Project" = var.name/
phases   | terraform/modules/scanning/iam.tf | s/manifest.json"/manifest"/
phases   | terraform/modules/scanning/iam.tf | s/Resource = module.fleet.database.arn/Resource = "arn:aws:rds:*"/
phases   | terraform/modules/scanning/iam.tf | /"rds:StopDBInstance"/s/rds:Stop/rds:Reboot/
phases   | terraform/modules/scanning/iam.tf | s/, "rds:DescribeDBInstances"//
phases   | terraform/modules/scanning/user_data.tf | /EVERYTAB_ALERTS /d
phases   | terraform/modules/hosting/budget.tf | s/"99" = "FORECASTED"/"99" = "ACTUAL"/
phases   | packaging/lib/send-journal | s/"PpsAllowanceExceeded"/"PacketsDropped"/
test     | terraform/modules/fleet/main.tf | /exclude_zone_ids/d
test     | terraform/modules/fleet/workers.tf | s/condition     = local.spot_cores .*/condition = local.spot_cores >= 0/
test     | terraform/modules/fleet/workers.tf | s/condition     = data.aws_ami.worker.architecture == .*/condition = data.aws_ami.worker.architecture != null/
test     | terraform/modules/hosting/cloudfront.tf | s/= var.hsts_subdomains/= true/
test     | terraform/variables.tf | s/length(var.alert_emails) >= 1/(var.alert_emails == var.alert_emails)/
test     | terraform/variables.tf | s/!var.scanning || var.contact != null/(var.contact == var.contact)/
units    | packaging/systemd/everytab-worker.service | /^ExecStartPre=/d
units    | packaging/lib/broker | s/^def main():/def main()/
leaving  | packaging/lib/leave-group | /^systemctl poweroff/d
leaving  | packaging/lib/leave-group | /scan.env/d
lint     | terraform/modules/scanning/variables.tf | 0,/  description = /{/  description = /d}
lint     | terraform/variables.tf | s/variable "price_class" {/variable "unused" {\n  description = "x"\n  type = bool\n}\n\n&/
lint     | terraform/modules/bucket/main.tf | s/\(#checkov:skip=CKV_AWS_145\):.*/\1/
policy   | terraform/modules/hosting/cloudfront.tf | s/"redirect-to-https"/"allow-all"/
policy   | terraform/modules/fleet/database.tf | s/storage_encrypted     = true/storage_encrypted = false/
page     | terraform/modules/hosting/cloudfront.tf | s/frame-src https:/frame-src */
packer   | packer/plugins.pkr.hcl | s/"= 1.3.9"/"~> 1.3"/
packer   | packer/plugins.pkr.hcl | s/version = "= 1.1.4"/version = "1.1"/
packer   | packer/variables.pkr.hcl | s/fileexists(abspath(var.package))/var.package != ""/
packer   | packer/variables.pkr.hcl | s/fileexists(abspath(var.operator))/var.operator != ""/
packer   | packer/worker.pkr.hcl | s/ssh_username /ssh_user /
packer   | packer/worker.pkr.hcl | s/source.amazon-ebs.worker/source.amazon-ebs.work/
packer   | packer/worker.pkr.hcl | s/var.package/var.pakage/
packer   | packer/worker.pkr.hcl | s/worker.yml/workers.yml/
packer   | packer/worker.pkr.hcl | /owners      = /d
packer   | packer/worker.pkr.hcl | /# packer>=1.7: end/d
ansible  | ansible/roles/unbound/tasks/main.yml | s/ansible.builtin.template/template/
ansible  | ansible/roles/worker/tasks/main.yml | 0,/mode: /{/mode: /d}
ansible  | ansible/roles/unbound/tasks/main.yml | 0,/ansible.builtin.apt:/s//ansible.builtin.atp:/
units    | packaging/systemd/everytab-worker.service | s/^RestartSec=5/RestartSecs=5/
units    | packaging/systemd/everytab-worker.service | s/^KillSignal=SIGTERM/KillSignal=SIGTREM/
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | s/^ProtectSystem=strict//; s/^NoNewPrivileges=yes//; s/^SystemCallFilter.*//; s/^PrivateDevices=yes//
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | /^NoNewPrivileges=yes/d
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | /^ProtectProc=invisible/d
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | /^SystemCallFilter=~@privileged/d
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | s/^UMask=0077/UMask=0022/
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | s/^CapabilityBoundingSet=/&CAP_SYS_ADMIN/
units    | packaging/lib/leave-group | s/ esac$//
starting | packaging/lib/start-scan | s/^if .*open_scans.*then/if true; then/
starting | packaging/lib/start-scan | s/"${EVERYTAB_MIGRATE_RUNNING_SCAN:-}" = true/false/
leaving  | packaging/systemd/everytab-worker.service | s/^SuccessExitStatus=3 4/SuccessExitStatus=4/
leaving  | packaging/systemd/everytab-worker.service | s/^RestartPreventExitStatus=2/RestartPreventExitStatus=1 2/
leaving  | packaging/systemd/everytab-worker.service | s/^Restart=on-failure/Restart=no/
leaving  | packaging/systemd/everytab-worker.service | /^ExecStopPost=/d
leaving  | packaging/lib/leave-group | s/in 0 | 3) ;;/in 0 | 3 | 4) ;;/
leaving  | packaging/lib/leave-group | s/in 0 | 3) ;;/in 0) ;;/
leaving  | packaging/lib/leave-group | s/\*) exit 0 ;;/*) ;;/
leaving  | packaging/lib/leave-group | s/--should-decrement/--no-should-decrement/
leaving  | packaging/lib/leave-group | s/^exit 1/exit 0/
stopping | packaging/lib/stop-when-done | s/-ge 3600/-ge 0/
stopping | packaging/lib/stop-when-done | s/finished | finished_with_discards) ;;/finished) ;;/
stopping | packaging/lib/stop-when-done | s/add > 0/add >= 0/
stopping | packaging/lib/stop-when-done | s/ and .LastModified.*/)/
stopping | packaging/lib/stop-when-done | s/^busy=.*/busy=/
stopping | packaging/lib/stop-when-done | /^busy=/d; s/ -z "$busy" / -z "$(systemctl)" /
stopping | packaging/lib/stop-when-done | s/ --delimiter \/ / /
stopping | packaging/lib/stop-when-done | s/.Key == $key and //
stopping | packaging/lib/stop-when-done | s/^    touch .*/    true/
stopping | packaging/lib/stop-when-done | s/InvalidDBInstanceState/InvalidState/
stopping | packaging/lib/stop-when-done | s/in stopping | stopped) ;;/in stopping | modifying | stopped) ;;/
stopping | packaging/lib/stop-when-done | s/^exec aws ec2 stop/exec aws ec2 terminate/
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | /^ProtectHome=yes/d
lockout  | coordinator-sql/roles.sql | s/>= 160000$/>= 190000/
lockout  | packaging/lib/start-scan | s/grant rds_iam to everytab_worker/grant rds_iam to everytab_owner/
lockout  | packaging/lib/start-scan | /grant rds_iam to/d
phases   | terraform/modules/scanning/iam.tf | /^    console = {/,/^    }/s/"s3:GetObject", "s3:ListBucket"\]/"s3:GetObject"]/
phases   | terraform/modules/fleet/network.tf | s/"s3:GetObject", "s3:ListBucket"/"s3:GetObject"/
runbook  | docs/scan.md | s/everytab-owner scan pause --kind icon/everytab-owner scan pause --stage icon/
runbook  | docs/scan.md | s/-var teardown=CC/-var destroy=CC/
runbook  | docs/scan.md | s/everytab-owner backup --to/everytab-worker backup --to/
runbook  | docs/scan.md | s/aws ec2 describe-images/aws ec2 list-images/
runbook  | docs/fleet.md | s/-var teardown=CC/-var destroy=CC/
runbook  | docs/fleet.md | s/alert_emails = /alert_mails = /
runbook  | docs/fleet.md | s/^## In the cloud/## In AWS/
runbook  | terraform/outputs.tf | s/output "console" {/output "consol" {/
runbook  | packer/variables.pkr.hcl | s/variable "operator" {/variable "operators" {/
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/"s3:PutObject", /&"s3:DeleteObject", /
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/"s3:PutObject", /&"s3:ListBucket", /
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/"s3:PutObject", /&"s3:GetObject", /
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/crawl-data\/\*/*/
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/\/robotstxt//
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/"s3:PutObject", //
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/everytab_worker/*/
service  | terraform/modules/crawling/iam.tf | /^    crawler = {/,/^    }/s/everytab_worker/everytab_owner/
service  | terraform/modules/crawling/iam.tf | /^    api = {/,/^    }/s/"s3:GetObject"/["s3:GetObject", "s3:PutObject"]/
service  | terraform/modules/crawling/iam.tf | /^    api = {/,/^    }/s/"s3:GetObject"/["s3:GetObject", "s3:ListBucket"]/
service  | terraform/modules/crawling/iam.tf | /^    api = {/,/^    }/s/everytab_api"/everytab_worker"/
service  | terraform/modules/crawling/iam.tf | /^    api = {/,/^    }/s/${local.pages}\/crawl-data/${local.pages}/
service  | terraform/modules/crawling/iam.tf | s/machine     = "api-machine"/machine = "crawl-machine"/
service  | terraform/modules/fleet/iam.tf | s/:role\/${var.name}-${name}"/:role\/*"/
service  | terraform/modules/crawling/iam.tf | /^    crawl-machine = {/,/^    }/s/Resource = var.signing_secret_arn/Resource = module.fleet.database.secret/
service  | terraform/modules/crawling/iam.tf | /^    crawl-console = {/,/^    }/s/"s3:DeleteObject"/"s3:DeleteObject", "s3:PutBucketPolicy"/
service  | terraform/modules/fleet/iam.tf | s/Principal = { AWS = .*/Principal = { AWS = "*" }/
service  | terraform/modules/fleet/network.tf | /"aws" {/,/^}/s/443/0/g
service  | terraform/modules/fleet/network.tf | s/port = 8443/port = 25/
service  | terraform/modules/crawling/network.tf | s/toset(var.api_open_to)/toset(["0.0.0.0\/0"])/
service  | terraform/modules/fleet/network.tf | /"database" {/,/^}/s/referenced_security_group_id = aws_security_group.database.id/cidr_ipv4 = "0.0.0.0\/0"/
service  | terraform/modules/crawling/fleet.tf | s/Resource = "${module.pages.arn}\/\*"/Resource = "*"/
service  | terraform/modules/fleet/outputs.tf | s/aws_route_table_association.public, aws_vpc_endpoint.s3,/aws_vpc_endpoint.s3,/
service  | terraform/modules/crawling/fleet.tf | s/"DueHostsPerWorker"/"DueHosts"/
service  | terraform/modules/crawling/fleet.tf | s/name  = "Fleet"/name = "Group"/
service  | terraform/modules/crawling/fleet.tf | s/disable_scale_in = false/disable_scale_in = true/
service  | terraform/modules/crawling/fleet.tf | s/estimated_instance_warmup = 300/estimated_instance_warmup = 0/
service  | terraform/modules/crawling/fleet.tf | s/  max_size             = var.workers_max/&\n    desired_capacity = var.workers_min/
service  | terraform/modules/crawling/fleet.tf | s/backup_days            = 14/backup_days = 0/
service  | terraform/modules/crawling/fleet.tf | s/backups_go_with_it     = false/backups_go_with_it = true/
service  | terraform/modules/crawling/fleet.tf | s/protected              = var.protected/protected = false/
service  | terraform/modules/crawling/fleet.tf | s/tostring(var.protected)/"false"/
service  | terraform/modules/crawling/main.tf | s/goes_with_its_objects = !var.protected/goes_with_its_objects = true/
service  | terraform/modules/crawling/user_data.tf | s/sslmode=verify-full/sslmode=require/
service  | terraform/modules/crawling/user_data.tf | s/everytab_api@${local.database}/everytab_worker@${local.database}/
service  | terraform/modules/crawling/user_data.tf | s/everytab_worker@${local.database}/everytab_owner@${local.database}/
service  | terraform/modules/crawling/user_data.tf | s/owner = "root:everytab-api" }/owner = "root:everytab-crawl" }/
service  | terraform/modules/crawling/user_data.tf | /"api-fence.env"/d
service  | terraform/modules/crawling/user_data.tf | s/join(" ", module.fleet.s3_ranges)/"0.0.0.0\/0"/
service  | terraform/modules/crawling/user_data.tf | s/EVERYTAB_API_LISTEN = "127.0.0.1:8088"/EVERYTAB_API_LISTEN = "0.0.0.0:8088"/
service  | terraform/modules/crawling/user_data.tf | s/; ${var.contact})/)/
service  | terraform/modules/crawling/user_data.tf | /EVERYTAB_USER_AGENT = local/d
service  | terraform/modules/crawling/user_data.tf | s/\["everytab-api.target"\]/["everytab-api.service"]/
service  | terraform/modules/crawling/user_data.tf | s/EVERYTAB_NAMESPACE = local.namespace/EVERYTAB_NAMESPACE = "Other"/
service  | terraform/modules/crawling/observability.tf | s/      due-hosts-high = {/      due-hosts = {/
service  | terraform/modules/crawling/observability.tf | s/metric      = "LiveWorkers"/metric = "LifeWorkers"/
service  | terraform/modules/crawling/observability.tf | s/metric      = "UnheldSlots"/metric = "DueHosts"/
service  | terraform/modules/crawling/observability.tf | s/missing     = "breaching"/missing = "notBreaching"/
service  | terraform/modules/crawling/observability.tf | s/var.api_machines == 0 ? {} : {/true ? {} : {/
service  | terraform/modules/crawling/observability.tf | s/      database-cpu = {/      database-processor = {/
service  | terraform/modules/crawling/observability.tf | /metric      = "FreeStorageSpace"/,/}/s/"LessThanThreshold"/"GreaterThanThreshold"/
service  | terraform/modules/fleet/observability.tf | s/"CPUSurplusCreditBalance"$/"CPUCredits"/
service  | terraform/modules/fleet/observability.tf | s/alarm_actions       = \[.*/alarm_actions = []/
service  | terraform/modules/fleet/observability.tf | s/{ Fleet = var.workers.name }/{ Group = var.workers.name }/
service  | packaging/lib/publish-crawl-counts | s/DueHostsPerWorker: $share/DueHostsAWorker: $share/
service  | packaging/lib/publish-ready | s/ApiReady: $ready/Ready: $ready/
service  | terraform/main.tf | s/condition     = var.crawling || var.teardown_crawls == .*/condition = var.crawling || true/
service  | terraform/main.tf | s/condition     = var.crawling || lookup.*/condition = var.crawling || true/
service  | terraform/main.tf | s/  count  = var.crawling ? 1 : 0/  count = 1/
service  | terraform/main.tf | s/var.log_retention_days$/var.crawling ? 7 : 30/
service  | terraform/modules/crawling/fleet.tf | s/ warmup               = 300/ warmup = 0/
test     | terraform/modules/crawling/fleet.tf | s/target_value     = var.hosts_per_worker/target_value = 50000/
test     | terraform/modules/crawling/api.tf | s/http_tokens                 = "required"/http_tokens = "optional"/
test     | terraform/modules/crawling/api.tf | s/encrypted             = true/encrypted = false/
test     | terraform/modules/crawling/console.tf | s/http_put_response_hop_limit = 1/http_put_response_hop_limit = 2/
test     | terraform/modules/crawling/network.tf | /"api" {/,/^}/s/to_port           = 443/to_port = 9464/
test     | terraform/modules/crawling/user_data.tf | s/ : \["caddy.service"\]/ : []/
test     | terraform/variables.tf | s/var.crawl_workers_min >= 1 || var.crawl_workers_max == 0/(var.crawl_workers_min == var.crawl_workers_min)/
test     | terraform/variables.tf | s/!var.crawling || var.contact != null/(var.contact == var.contact)/
test     | terraform/variables.tf | s/!var.crawling || var.crawl_ami_id != null/(var.crawl_ami_id == var.crawl_ami_id)/
test     | terraform/variables.tf | s/var.api_domain == null || var.api_machines == 1/(var.api_domain == var.api_domain)/
test     | terraform/variables.tf | s/length(var.api_open_to) == 0 || var.api_domain != null/(var.api_open_to == var.api_open_to)/
units    | packaging/systemd/everytab-crawl.service | /^ExecStartPre=/d
units    | packaging/systemd/everytab-crawl.service | s/^User=everytab-crawl/User=everytab/
units    | packaging/systemd/everytab-crawl.service | s/^Type=exec/&\nNoNewPrivileges=no/
units    | packaging/systemd/everytab-crawl.service | s/^SuccessExitStatus=4/SuccessExitStatus=0/
units    | packaging/systemd/everytab-crawl.service | s/^Type=exec/&\nCapabilityBoundingSet=CAP_NET_RAW/
units    | packaging/systemd/everytab-api.service | /fence-api$/d
units    | packaging/systemd/everytab-api.service | s/^User=everytab-api/User=everytab-owner/
units    | packaging/systemd/everytab-.service.d/10-sandbox.conf | /^ProtectSystem=strict/d
units    | packaging/systemd/everytab-api.service | s/^ExecStart=/ExecStarts=/
units    | packaging/systemd/everytab-token@.service | s/^Type=oneshot/&\nProtectProc=default/
units    | packaging/systemd/everytab-prepare.service | s/^Type=oneshot/&\nUMask=0022/
units    | packaging/systemd/everytab-ready.service | s/^Type=oneshot/&\nSystemCallFilter=~@clock/
units    | packaging/lib/fence.nft | s/everytab-broker, everytab-owner/everytab-broker, everytab-api, everytab-owner/
units    | packaging/lib/publish-ready | s/|| ready=0/||| ready=0/
counting | packaging/lib/publish-crawl-counts | s/ and r.state = 'running'//
counting | packaging/lib/publish-crawl-counts | s/ and f.next_due <= now()//
counting | packaging/lib/publish-crawl-counts | s/distinct (d.slot, d.host_hash)/*/
counting | packaging/lib/publish-crawl-counts | s/workers > 0 ? workers : 1/workers/
counting | packaging/lib/publish-crawl-counts | s/h.live_workers/h.lively_workers/
counting | packaging/lib/publish-crawl-counts | s/case when h.open_crawls > 0 then h.slots - h.held_slots else 0 end/h.slots - h.held_slots/
counting | packaging/lib/publish-ready | s/ready=1/ready=0/
counting | packaging/lib/publish-ready | s/|| ready=0/|| true/
counting | packaging/lib/prepare-crawls | s/"$live" = 0/true/
counting | packaging/lib/prepare-crawls | s/'15 seconds'/'15 minutes'/
counting | packaging/lib/prepare-crawls | s/'everytab_worker', 'everytab_api'/'everytab_worker'/
counting | packaging/lib/prepare-crawls | s/'everytab_worker', 'everytab_api'/'everytab_worker', 'everytab_api', 'everytab_owner'/
fence    | packaging/lib/fence-api | s/        counter reject/        counter accept/
fence    | packaging/lib/fence-api | s/tcp dport 443 accept/accept/
fence    | packaging/lib/fence-api | s/tcp dport 5432 accept/accept/
fence    | packaging/lib/fence-api | s/ip daddr { $(networks $private) } meta/meta/
fence    | packaging/lib/fence-api | /ct state established/d
fence    | packaging/lib/fence-api | s/ip daddr 127.0.0.1 tcp dport 8471/ip daddr 127.0.0.0\/8/
fence    | packaging/lib/fence-api | s/private="127.0.0.0\/8 /&169.254.0.0\/16 /
fence    | packaging/lib/fence-api | s/\*\[!0-9.\/\]\*) /nothing) /
fence    | packaging/lib/fence-api | s/skuid != everytab-api accept/skuid != everytab-api reject/
proxy    | ansible/roles/proxy/files/Caddyfile | s/max_size 8MiB/max_size 80MiB/
proxy    | ansible/roles/proxy/files/Caddyfile | s/For {remote_host}/For {header.X-Forwarded-For}/
proxy    | ansible/roles/proxy/files/Caddyfile | /header_up -X-Real-IP/d
proxy    | ansible/roles/proxy/files/Caddyfile | s/\t\tprotocols h1 h2/&\n\t\tlog_credentials/
proxy    | ansible/roles/proxy/files/Caddyfile | /Strict-Transport-Security/d
proxy    | ansible/roles/proxy/files/Caddyfile | s/-Server/Server/
ansible  | ansible/roles/proxy/tasks/main.yml | 0,/mode: /{/mode: /d}
phases   | terraform/modules/scanning/moved.tf.json | /"aws_vpc.scan"/d
service  | terraform/modules/crawling/moved.tf.json | s/machine\[\\"api-machine/machine[\\"api/
phases   | terraform/modules/scanning/fleet.tf | s/  other_cores      = .*/  other_cores = 0/
service  | terraform/modules/crawling/fleet.tf | s/  other_cores = .*/  other_cores = 2/
LIST
}

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

try() {
    local step="$1" file="$2" expression="$3" folder="$work/$4" said
    mkdir "$folder"
    cp -r "${CHECKED[@]}" "$folder"
    sed -i "$expression" "$folder/$file"
    if cmp -s "$file" "$folder/$file"; then
        echo "CHANGES NOTHING: $file: $expression"
        return 1
    fi
    if said="$(scripts/infra/check.sh --folder "$folder" --only "$step" 2>&1)"; then
        # The step cannot run here, such as the fence without root.
        if grep '^skipped:' <<<"$said"; then
            rm -rf "$folder"
            return 0
        fi
        echo "NOT FOUND by $step: $file: $expression"
        return 1
    fi
    grep -q FAILED <<<"$said" || { echo "DID NOT RUN: $said"; return 1; }
    rm -rf "$folder"
}

# Otherwise every step would seem to find each mistake.
mkdir "$work/0"
cp -r "${CHECKED[@]}" "$work/0"
scripts/infra/check.sh --folder "$work/0" || { echo "the checks fail without a mistake"; exit 1; }

number=0 missed=0
while IFS='|' read -r step file expression; do
    [[ "$step|$file|$expression" == *"${1:-}"* ]] || continue
    number=$((number + 1))
    try "${step// /}" "${file// /}" "${expression# }" "$number" || missed=$((missed + 1))
done < <(mutants)
echo "$((number - missed)) passed, $missed failed"
[ "$missed" = 0 ]
