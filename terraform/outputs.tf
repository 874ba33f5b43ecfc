output "site_address" {
  description = "Address of the site."
  value       = module.hosting.site_address
}

output "site_bucket" {
  description = "Bucket of the site, in the form of the option --site."
  value       = "s3://${module.hosting.site_bucket}"
}

output "kept_bucket" {
  description = "Private bucket that outlives scans, with the takedown list (--private) and backups."
  value       = "s3://${module.hosting.kept_bucket}"
}

output "distribution_id" {
  description = "CloudFront distribution, in the form of the option --distribution."
  value       = module.hosting.distribution_id
}

output "archive_bucket" {
  description = "Bucket with the icons as they were served. It is deleted with the scan."
  value       = one(module.scanning[*].archive_bucket)
}

output "database_address" {
  description = "Postgres, as host:port. Only the workers and the console can reach it."
  value       = one(module.scanning[*].database_address)
}

output "fleet_name" {
  description = "Auto Scaling group of the workers."
  value       = one(module.scanning[*].fleet_name)
}

output "find_a_worker" {
  description = "Command that prints the id of an instance in the fleet, for connecting."
  value       = one(module.scanning[*].find_a_worker)
}

output "connect" {
  description = "Command that opens a shell on a worker. Replace INSTANCE with an instance id."
  value       = one(module.scanning[*].connect)
}

output "console" {
  description = "Command that opens a shell on the console."
  value       = one(module.scanning[*].console)
}

output "signing_secret" {
  description = "Secret for the key that signs requests. Empty until the operator stores a key."
  value       = module.hosting.signing_secret_arn
}

output "dashboard" {
  description = "Address of the scan's dashboard."
  value       = one(module.scanning[*].dashboard)
}

output "crawl_store" {
  description = "Bucket with the crawl service's captures, in the form of the option --to of `crawl start`."
  value       = one(module.crawling[*].store)
}

output "crawl_database_address" {
  description = "The crawl service's Postgres, as host:port."
  value       = one(module.crawling[*].database_address)
}

output "api_addresses" {
  description = "Addresses of the HTTP service, for the DNS zone of api_domain."
  value       = one(module.crawling[*].api_addresses)
}

output "api_tunnel" {
  description = "Command that forwards port 8088 on this machine to the HTTP service."
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
