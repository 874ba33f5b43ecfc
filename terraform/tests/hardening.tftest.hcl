# Each module must have these properties, whatever the variables. They are read from a plan, so
# that their removal is noticed.

run "hosting" {
  command = plan
  module {
    source = "./modules/hosting"
  }
  variables {
    name                  = "everytab"
    domain_name           = "everytab.example.com"
    zone_id               = "Z0123456789ABCDEFGHIJ"
    price_class           = "PriceClass_100"
    log_retention_days    = 30
    backup_retention_days = 180
    monthly_budget_usd    = 100
    budget_by_tag         = false
    hsts_seconds          = 86400
    hsts_subdomains       = false
    alert_emails          = ["me@example.com"]
  }

  assert {
    condition     = aws_cloudfront_distribution.site.default_cache_behavior[0].viewer_protocol_policy == "redirect-to-https" && aws_cloudfront_distribution.site.default_cache_behavior[0].compress
    error_message = "the site must require HTTPS and be compressed"
  }
  assert {
    condition     = aws_cloudfront_distribution.site.http_version == "http2and3" && aws_cloudfront_distribution.site.is_ipv6_enabled
    error_message = "the site must support HTTP/3 and IPv6"
  }
  assert {
    condition     = aws_cloudfront_distribution.site.viewer_certificate[0].minimum_protocol_version == "TLSv1.2_2021"
    error_message = "a custom domain must reject TLS below 1.2"
  }
  assert {
    condition     = aws_cloudfront_origin_access_control.site.signing_behavior == "always" && aws_cloudfront_origin_access_control.site.signing_protocol == "sigv4"
    error_message = "every request to the bucket must be signed"
  }
  assert {
    condition     = aws_cloudfront_cache_policy.site.parameters_in_cache_key_and_forwarded_to_origin[0].enable_accept_encoding_brotli && aws_cloudfront_cache_policy.site.min_ttl >= 1 && aws_cloudfront_cache_policy.site.max_ttl == 31536000
    error_message = "Brotli must be enabled, compressed responses cached, and the objects' Cache-Control obeyed"
  }
  assert {
    condition     = aws_cloudfront_response_headers_policy.site.security_headers_config[0].strict_transport_security[0].access_control_max_age_sec == 86400 && !aws_cloudfront_response_headers_policy.site.security_headers_config[0].strict_transport_security[0].include_subdomains
    error_message = "browsers must use only HTTPS for the configured time, for this host only"
  }
  assert {
    condition     = strcontains(aws_cloudfront_response_headers_policy.site.security_headers_config[0].content_security_policy[0].content_security_policy, "default-src 'none'")
    error_message = "the policy must forbid everything that it does not name"
  }
  assert {
    condition     = toset(aws_budgets_budget.month.notification[*].threshold) == toset([50, 80, 99, 100]) && contains(aws_budgets_budget.month.notification[*].notification_type, "FORECASTED")
    error_message = "the budget must send mails at 50, 80 and 100 %, and when the forecast exceeds 100 %"
  }
}

run "bucket" {
  command = plan
  module {
    source = "./modules/bucket"
  }
  variables {
    bucket = "everytab-x-123456789012"
  }

  assert {
    condition     = aws_s3_bucket_public_access_block.this.block_public_acls && aws_s3_bucket_public_access_block.this.block_public_policy && aws_s3_bucket_public_access_block.this.ignore_public_acls && aws_s3_bucket_public_access_block.this.restrict_public_buckets
    error_message = "no bucket may be public"
  }
  assert {
    condition     = !aws_s3_bucket.this.force_destroy && aws_s3_bucket_versioning.this.versioning_configuration[0].status == "Enabled"
    error_message = "by default a bucket must keep versions, and must not be destroyed with its objects"
  }
  assert {
    condition     = one(aws_s3_bucket_lifecycle_configuration.this.rule[0].expiration[*].expired_object_delete_marker) && one(aws_s3_bucket_lifecycle_configuration.this.rule[0].noncurrent_version_expiration[*].noncurrent_days) == 30
    error_message = "old versions and the remaining delete markers must expire"
  }
  assert {
    condition     = aws_s3_bucket_ownership_controls.this.rule[0].object_ownership == "BucketOwnerEnforced"
    error_message = "ACLs must be disabled"
  }
}

run "scanning" {
  command = apply
  module {
    source = "./modules/scanning"
  }
  variables {
    name                      = "everytab"
    region                    = "us-east-1"
    crawl                     = "CC-MAIN-2026-05"
    host_limit                = null
    site_url                  = null
    site_address              = "https://everytab.org/"
    contact                   = "bot@everytab.org"
    archive_rate              = null
    stop_after_hours          = 6
    console                   = true
    console_instance_type     = null
    console_volume_gb         = 120
    migrate_running_scan      = false
    stop_when                 = "published"
    machine_logs              = "/everytab/machines"
    signing_secret_arn        = "arn:aws:secretsmanager:us-east-1:123456789012:secret:everytab-signing-key-AbCdEf"
    worker_count              = 7
    ami_id                    = "ami-0123456789abcdef0"
    architecture              = "arm64"
    instance_types            = null
    on_demand_base            = 1
    on_demand_percentage      = 0
    requests_in_flight        = 2048
    root_volume_gb            = 16
    network_cidr              = "10.83.0.0/16"
    database_instance_class   = "db.t4g.large"
    database_version          = "17"
    database_storage_gb       = 100
    database_storage_limit_gb = 400
    site_bucket               = "everytab-site-123456789012"
    kept_bucket               = "everytab-kept-123456789012"
    distribution_id           = "E2QWRUHAPOMQZL"
    alerts_topic_arn          = "arn:aws:sns:us-east-1:123456789012:everytab-alerts"
  }

  assert {
    condition     = one(aws_instance.console[*].metadata_options[0].http_tokens) == "required" && one(aws_instance.console[*].root_block_device[0].encrypted) && one(aws_instance.console[*].root_block_device[0].volume_size) == 120
    error_message = "the console must require metadata version 2, and have an encrypted disk with space for a dump"
  }

  assert {
    condition     = startswith(base64decode(module.fleet.user_data["worker"]), "#cloud-config\n") && can(yamldecode(base64decode(module.fleet.user_data["worker"])).write_files[0].path)
    error_message = "user data must be cloud-config"
  }
  assert {
    condition     = !strcontains(lower(base64decode(module.fleet.user_data["worker"])), "password") && alltrue([for f in yamldecode(base64decode(module.fleet.user_data["worker"])).write_files : f.permissions == "0640"])
    error_message = "user data must contain no password, and its files must not be readable by all users"
  }
  assert {
    condition     = one([for f in yamldecode(base64decode(aws_instance.console[0].user_data_base64)).write_files : f.owner if f.path == "/etc/everytab/scan.env"]) == "root:everytab-owner" && !strcontains(base64decode(module.fleet.user_data["worker"]), "everytab_owner")
    error_message = "the worker must not be able to read the owner's settings"
  }
  assert {
    condition     = toset(keys(aws_cloudwatch_metric_alarm.rule)) == toset(["JobsDiscarded", "ScanStalled", "ScanWithoutWorkers", "ScanEnded", "ScanRunsLong", "IconsFail", "DatabaseNearlyFull"]) && contains(keys(aws_cloudwatch_metric_alarm.idle_fleet), "NobodyWatches") && alltrue([for a in values(aws_cloudwatch_metric_alarm.rule) : length(a.alarm_actions) == 1])
    error_message = "each rule in telemetry/alerts.yml with a CloudWatch metric must be an alarm"
  }
}

run "crawling" {
  command = apply
  module {
    source = "./modules/crawling"
  }
  variables {
    name                      = "everytab"
    region                    = "us-east-1"
    protected                 = false
    retention_days            = 90
    workers_min               = 1
    workers_max               = 7
    hosts_per_worker          = 2000
    on_demand_base            = 1
    ami_id                    = "ami-0123456789abcdef0"
    architecture              = "arm64"
    instance_types            = null
    requests_in_flight        = 2048
    root_volume_gb            = 16
    network_cidr              = "10.84.0.0/16"
    api_machines              = 1
    api_instance_type         = null
    api_domain                = null
    api_open_to               = []
    site_url                  = null
    site_address              = "https://everytab.org/"
    contact                   = "bot@everytab.org"
    database_instance_class   = "db.t4g.medium"
    database_version          = "17"
    database_multi_az         = false
    database_storage_gb       = 100
    database_storage_limit_gb = 1000
    alerts_topic_arn          = "arn:aws:sns:us-east-1:123456789012:everytab-alerts"
    machine_logs              = "/everytab/machines"
    signing_secret_arn        = "arn:aws:secretsmanager:us-east-1:123456789012:secret:everytab-signing-key-AbCdEf"
  }

  assert {
    condition     = alltrue([for m in concat([aws_instance.console], aws_instance.api) : one(m.metadata_options[*].http_tokens) == "required" && one(m.metadata_options[*].http_put_response_hop_limit) == 1 && one(m.root_block_device[*].encrypted)])
    error_message = "metadata must require version 2, and disks must be encrypted"
  }

  assert {
    condition     = aws_autoscaling_policy.follow.target_tracking_configuration[0].target_value == 2000 && local.alarms["due-hosts-high"].threshold == 6000
    error_message = "the group must have the operator's target, and the alarm's threshold must be far above it"
  }

  assert {
    condition     = alltrue([for machine in local.settings : alltrue([for file in machine.files : startswith(file.owner, "root:")])]) && !strcontains(lower(join("", [for text in module.fleet.user_data : base64decode(text)])), "password")
    error_message = "user data must be readable only by its programs, and contain no password"
  }

  assert {
    condition     = !strcontains(base64decode(module.fleet.user_data["crawl-machine"]), "everytab_owner") && !strcontains(base64decode(module.fleet.user_data["api-machine"]), "everytab_owner") && !strcontains(base64decode(module.fleet.user_data["api-machine"]), "everytab_worker")
    error_message = "only the console may have the owner's settings, and the HTTP service must not be a worker"
  }

  assert {
    condition     = length(aws_vpc_security_group_ingress_rule.api) == 0 && !contains(yamldecode(base64decode(module.fleet.user_data["api-machine"])).runcmd[*][4], "caddy.service")
    error_message = "by default no port may be open, and no proxy may run"
  }
}

run "crawling_behind_a_name" {
  command = apply
  module {
    source = "./modules/crawling"
  }
  variables {
    name                      = "everytab"
    region                    = "us-east-1"
    protected                 = false
    retention_days            = 90
    workers_min               = 1
    workers_max               = 7
    hosts_per_worker          = 2000
    on_demand_base            = 1
    ami_id                    = "ami-0123456789abcdef0"
    architecture              = "arm64"
    instance_types            = null
    requests_in_flight        = 2048
    root_volume_gb            = 16
    network_cidr              = "10.84.0.0/16"
    api_machines              = 1
    api_instance_type         = null
    api_domain                = "crawls.everytab.org"
    api_open_to               = ["203.0.113.0/24"]
    site_url                  = null
    site_address              = "https://everytab.org/"
    contact                   = "bot@everytab.org"
    database_instance_class   = "db.t4g.medium"
    database_version          = "17"
    database_multi_az         = false
    database_storage_gb       = 100
    database_storage_limit_gb = 1000
    alerts_topic_arn          = "arn:aws:sns:us-east-1:123456789012:everytab-alerts"
    machine_logs              = "/everytab/machines"
    signing_secret_arn        = "arn:aws:secretsmanager:us-east-1:123456789012:secret:everytab-signing-key-AbCdEf"
  }

  assert {
    condition     = one(values(aws_vpc_security_group_ingress_rule.api)[*].from_port) == 443 && one(values(aws_vpc_security_group_ingress_rule.api)[*].to_port) == 443 && one(values(aws_vpc_security_group_ingress_rule.api)[*].cidr_ipv4) == "203.0.113.0/24"
    error_message = "only the TLS port may be open, and only to the operator's networks"
  }

  assert {
    condition     = contains(yamldecode(base64decode(module.fleet.user_data["api-machine"])).runcmd[*][4], "caddy.service") && length([for f in yamldecode(base64decode(module.fleet.user_data["api-machine"])).write_files : f if f.path == "/etc/everytab/proxy.env" && strcontains(f.content, "crawls.everytab.org")]) == 1
    error_message = "the proxy must start with its hostname"
  }
}
