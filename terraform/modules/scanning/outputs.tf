output "archive_bucket" {
  description = "Bucket with the icons as they were served, in the form of the option --archive."
  value       = "s3://${module.archive.name}"
}

output "database_address" {
  description = "Postgres, as host:port."
  value       = module.fleet.database.address
}

output "fleet_name" {
  description = "Auto Scaling group of the workers."
  value       = module.fleet.group_name
}

output "find_a_worker" {
  description = "Command that prints the id of an instance in the fleet."
  value       = "aws autoscaling describe-auto-scaling-groups --region ${var.region} --auto-scaling-group-names ${local.fleet_name} --query 'AutoScalingGroups[0].Instances[0].InstanceId' --output text"
}

output "connect" {
  description = "Command that opens a shell on a worker."
  value       = "aws ssm start-session --region ${var.region} --target INSTANCE"
}

output "console" {
  description = "Command that opens a shell on the console. Null without a console."
  value       = one([for machine in aws_instance.console : "aws ssm start-session --region ${var.region} --target ${machine.id}"])
}

output "dashboard" {
  description = "Address of the dashboard."
  value       = module.fleet.dashboard
}
