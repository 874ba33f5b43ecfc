output "site_address" {
  description = "Where the site is."
  value       = module.hosting.site_address
}

output "site_bucket" {
  description = "Bucket of the site, as --site of the program wants it."
  value       = "s3://${module.hosting.site_bucket}"
}

output "kept_bucket" {
  description = "Private bucket that outlives scans: the takedown list (--private) and backups."
  value       = "s3://${module.hosting.kept_bucket}"
}

output "distribution_id" {
  description = "CloudFront distribution, as --distribution wants it."
  value       = module.hosting.distribution_id
}

output "archive_bucket" {
  description = "Bucket of the icons as they were served; it goes with the scan."
  value       = one(module.scanning[*].archive_bucket)
}

output "database_address" {
  description = "Postgres, as host:port; reachable from the workers alone."
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
  description = "Command that opens a shell on a worker; put an instance id for INSTANCE."
  value       = one(module.scanning[*].connect)
}

output "dashboard" {
  description = "Address of the scan's dashboard."
  value       = one(module.scanning[*].dashboard)
}
