# Two phases in one state. `hosting` always exists and costs a few dollars a month; `scanning` exists
# while a scan runs. Nothing in hosting refers to scanning, so a change of phase never changes the site.

module "hosting" {
  source = "./modules/hosting"

  name                  = var.name
  domain_name           = var.domain_name
  zone_id               = var.zone_id
  price_class           = var.price_class
  log_retention_days    = var.log_retention_days
  backup_retention_days = var.backup_retention_days
  monthly_budget_usd    = var.monthly_budget_usd
  alert_emails          = var.alert_emails
}

module "scanning" {
  source = "./modules/scanning"
  count  = var.scanning ? 1 : 0

  name                      = var.name
  region                    = var.region
  crawl                     = var.crawl
  host_limit                = var.host_limit
  user_agent                = var.user_agent
  scan_hours_limit          = var.scan_hours_limit
  worker_count              = var.worker_count
  ami_id                    = var.ami_id
  architecture              = var.architecture
  instance_types            = var.instance_types
  on_demand_base            = var.on_demand_base
  on_demand_percentage      = var.on_demand_percentage
  requests_in_flight        = var.requests_in_flight
  root_volume_gb            = var.root_volume_gb
  network_cidr              = var.network_cidr
  database_instance_class   = var.database_instance_class
  database_version          = var.database_version
  database_storage_gb       = var.database_storage_gb
  database_storage_limit_gb = var.database_storage_limit_gb
  site_bucket               = module.hosting.site_bucket
  kept_bucket               = module.hosting.kept_bucket
  distribution_id           = module.hosting.distribution_id
  alerts_topic_arn          = module.hosting.alerts_topic_arn
}
