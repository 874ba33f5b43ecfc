output "store" {
  description = "Bucket of what was captured, as --to of `crawl start` wants it."
  value       = "s3://${module.pages.name}"
}

output "database_address" {
  description = "Postgres of the service, as host:port."
  value       = module.fleet.database.address
}

output "api_addresses" {
  description = "Addresses of the machines of the HTTP service, for the operator's zone."
  value       = aws_eip.api[*].public_ip
}

output "api_tunnel" {
  description = "Command that brings the HTTP service to port 8088 of this machine, without any port open; null without a machine of it."
  value       = try("aws ssm start-session --region ${var.region} --target ${aws_instance.api[0].id} --document-name AWS-StartPortForwardingSession --parameters portNumber=8088,localPortNumber=8088", null)
}

output "console" {
  description = "Command that opens a shell on the console."
  value       = "aws ssm start-session --region ${var.region} --target ${aws_instance.console.id}"
}

output "dashboard" {
  description = "Address of the dashboard."
  value       = module.fleet.dashboard
}
