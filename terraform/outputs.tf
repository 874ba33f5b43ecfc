output "site_address" {
  description = "Address of the site."
  value       = module.hosting.site_address
}

output "site_bucket" {
  description = "Bucket of the site, in the form of the option --site."
  value       = "s3://${module.hosting.site_bucket}"
}

output "kept_bucket" {
  description = "Private bucket that outlives scans: the takedown list (--private) and backups."
  value       = "s3://${module.hosting.kept_bucket}"
}

output "distribution_id" {
  description = "CloudFront distribution, in the form of the option --distribution."
  value       = module.hosting.distribution_id
}

output "archive_bucket" {
  description = "Bucket of the icons as they were served; it is deleted with the scan."
  value       = one(module.scanning[*].archive_bucket)
}

output "database_address" {
  description = "Postgres, as host:port; only workers and console can reach it."
  value       = one(module.scanning[*].database_address)
}

output "fleet_name" {
  description = "Auto Scaling group of the workers."
  value       = one(module.scanning[*].fleet_name)
}

output "find_a_worker" {
  description = "Command that prints an instance id of the fleet, for connecting."
  value       = one(module.scanning[*].find_a_worker)
}

output "connect" {
  description = "Command that opens a shell on a worker; replace INSTANCE by an instance id."
  value       = one(module.scanning[*].connect)
}

output "console" {
  description = "Command that opens a shell on the console."
  value       = one(module.scanning[*].console)
}

output "signing_secret" {
  description = "Secret for the key that requests are signed with; empty until one is put in."
  value       = module.hosting.signing_secret_arn
}

output "dashboard" {
  description = "Address of the scan's dashboard."
  value       = one(module.scanning[*].dashboard)
}

output "crawl_store" {
  description = "Bucket of what the crawl service captured, as --to of `crawl start` wants it."
  value       = one(module.crawling[*].store)
}

output "crawl_database_address" {
  description = "Postgres of the crawl service, as host:port."
  value       = one(module.crawling[*].database_address)
}

output "api_addresses" {
  description = "Addresses of the HTTP service, for the zone of api_domain."
  value       = one(module.crawling[*].api_addresses)
}

output "api_tunnel" {
  description = "Command that brings the HTTP service to port 8088 of this machine."
  value       = one(module.crawling[*].api_tunnel)
}

output "crawl_console" {
  description = "Command that opens a shell on the crawl service's console."
  value       = one(module.crawling[*].console)
}

output "crawl_dashboard" {
  description = "Address of the crawl service's dashboard."
  value       = one(module.crawling[*].dashboard)
}
