# Two phases and a service in one state. `hosting` always exists and costs a few dollars a
# month. `scanning` exists while a scan runs, and `crawling` as long as a crawl service is
# wanted. Creating or destroying one of them changes none of the others.
#
# Without a check, leaving out `scanning` would destroy a running scan. Therefore we look up
# Postgres by its name in the account, not in the state. While it exists, removing it needs
# `teardown` with the scan's name (docs/decisions/0047-naming-what-is-destroyed.md).

data "aws_db_instances" "scan" {
  filter {
    name   = "db-instance-id"
    values = [var.name]
  }
}

data "aws_db_instance" "scan" {
  for_each = toset(data.aws_db_instances.scan.instance_identifiers)

  db_instance_identifier = each.value

  lifecycle {
    postcondition {
      condition     = var.scanning || var.teardown == lookup(self.tags, "Scan", "unknown")
      error_message = "The scan of ${lookup(self.tags, "Scan", "unknown")} exists, and this would destroy its machines, database and archive. To continue it, set -var scanning=true and the variables with which it was started. To destroy it, make a backup first, then set -var scanning=false -var teardown=${lookup(self.tags, "Scan", "unknown")}."
    }
    postcondition {
      condition     = !var.scanning || var.crawl == lookup(self.tags, "Scan", "unknown")
      error_message = "The scan of ${lookup(self.tags, "Scan", "unknown")} exists: set -var crawl=${lookup(self.tags, "Scan", "unknown")}, with which it was started. To scan another crawl, tear this scan down first."
    }
  }
}

# Removing a crawl service needs teardown_crawls in the same way. A protected service cannot be
# destroyed with any name.
data "aws_db_instances" "crawls" {
  filter {
    name   = "db-instance-id"
    values = ["${var.name}-crawls"]
  }
}

data "aws_db_instance" "crawls" {
  for_each = toset(data.aws_db_instances.crawls.instance_identifiers)

  db_instance_identifier = each.value

  lifecycle {
    postcondition {
      condition     = var.crawling || var.teardown_crawls == each.value
      error_message = "The crawl service ${each.value} exists, and this would destroy its machines, database and bucket with all captures. To continue it, set -var crawling=true and the variables with which it was started. To destroy it, apply with -var crawls_protected=false first, then set -var crawling=false -var teardown_crawls=${each.value}."
    }
    postcondition {
      condition     = var.crawling || lookup(self.tags, "Protected", "true") == "false"
      error_message = "The crawl service ${each.value} is protected: apply with crawling=true and -var crawls_protected=false first."
    }
  }
}

module "hosting" {
  source = "./modules/hosting"

  name                  = var.name
  domain_name           = var.domain_name
  zone_id               = var.zone_id
  price_class           = var.price_class
  log_retention_days    = var.log_retention_days
  backup_retention_days = var.backup_retention_days
  monthly_budget_usd    = var.monthly_budget_usd
  budget_by_tag         = var.budget_by_tag
  alert_emails          = var.alert_emails
  hsts_seconds          = var.hsts_seconds
  hsts_subdomains       = var.hsts_subdomains
}

module "scanning" {
  source = "./modules/scanning"
  count  = var.scanning ? 1 : 0

  name                      = var.name
  region                    = var.region
  crawl                     = var.crawl
  host_limit                = var.host_limit
  site_url                  = var.site_url
  contact                   = var.contact
  archive_rate              = var.archive_rate
  stop_after_hours          = var.stop_after_hours
  worker_count              = var.worker_count
  ami_id                    = var.ami_id
  architecture              = var.architecture
  instance_types            = var.instance_types
  on_demand_base            = var.on_demand_base
  on_demand_percentage      = var.on_demand_percentage
  requests_in_flight        = var.requests_in_flight
  root_volume_gb            = var.root_volume_gb
  console                   = var.console
  console_instance_type     = var.console_instance_type
  console_volume_gb         = var.console_volume_gb
  stop_when                 = var.stop_when
  migrate_running_scan      = var.migrate_running_scan
  network_cidr              = var.network_cidr
  database_instance_class   = var.database_instance_class
  database_version          = var.database_version
  database_storage_gb       = var.database_storage_gb
  database_storage_limit_gb = var.database_storage_limit_gb
  site_bucket               = module.hosting.site_bucket
  kept_bucket               = module.hosting.kept_bucket
  site_address              = module.hosting.site_address
  distribution_id           = module.hosting.distribution_id
  alerts_topic_arn          = module.hosting.alerts_topic_arn
  machine_logs              = module.hosting.machine_logs
  signing_secret_arn        = module.hosting.signing_secret_arn
}

module "crawling" {
  source = "./modules/crawling"
  count  = var.crawling ? 1 : 0

  name                      = var.name
  region                    = var.region
  protected                 = var.crawls_protected
  retention_days            = var.crawl_retention_days
  workers_min               = var.crawl_workers_min
  workers_max               = var.crawl_workers_max
  hosts_per_worker          = var.crawl_hosts_per_worker
  on_demand_base            = var.crawl_on_demand_base
  ami_id                    = var.crawl_ami_id
  architecture              = var.architecture
  instance_types            = var.instance_types
  requests_in_flight        = var.requests_in_flight
  root_volume_gb            = var.root_volume_gb
  network_cidr              = var.crawl_network_cidr
  api_machines              = var.api_machines
  api_instance_type         = var.api_instance_type
  api_domain                = var.api_domain
  api_open_to               = var.api_open_to
  site_url                  = var.site_url
  site_address              = module.hosting.site_address
  contact                   = var.contact
  database_instance_class   = var.crawl_database_instance_class
  database_version          = var.database_version
  database_multi_az         = var.crawl_database_multi_az
  database_storage_gb       = var.crawl_database_storage_gb
  database_storage_limit_gb = var.crawl_database_storage_limit_gb
  alerts_topic_arn          = module.hosting.alerts_topic_arn
  machine_logs              = module.hosting.machine_logs
  signing_secret_arn        = module.hosting.signing_secret_arn
}
