output "store" {
  description = "Bucket with the captures, in the form of the option --to of `crawl start`."
  value       = "s3://${module.pages.name}"
}

output "database_address" {
  description = "The service's Postgres, as host:port."
  value       = module.fleet.database.address
}

output "api_addresses" {
  description = "Addresses of the HTTP service's machines, for the operator's DNS zone."
  value       = aws_eip.api[*].public_ip
}

output "api_tunnel" {
  description = "Command that forwards port 8088 on this machine to the HTTP service, without an open port. Null if no machine serves it."
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
