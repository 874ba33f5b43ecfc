output "site_address" {
  description = "Address of the site."
  value       = "https://${coalesce(var.domain_name, aws_cloudfront_distribution.site.domain_name)}/"
}

output "site_bucket" {
  description = "Name of the site's bucket."
  value       = module.site.name
}

output "kept_bucket" {
  description = "Name of the private bucket, which outlives scans."
  value       = module.kept.name
}

output "distribution_id" {
  description = "Id of the CloudFront distribution."
  value       = aws_cloudfront_distribution.site.id
}

output "alerts_topic_arn" {
  description = "Topic to which alarms are published."
  value       = aws_sns_topic.alerts.arn
}

output "machine_logs" {
  description = "Log group of the machines' journals."
  value       = aws_cloudwatch_log_group.machines.name
}

output "signing_secret_arn" {
  description = "Secret with the key that signs requests."
  value       = aws_secretsmanager_secret.signing.arn
}
