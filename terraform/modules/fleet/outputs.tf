output "subnet_ids" {
  description = "Subnets for machines. They depend on the permissions and outgoing connections, so that these exist as long as the machines."
  value       = aws_subnet.public[*].id

  depends_on = [
    aws_iam_role_policy.this, aws_route.internet,
    aws_route_table_association.public, aws_vpc_endpoint.s3,
    aws_vpc_security_group_egress_rule.worker, aws_vpc_security_group_egress_rule.aws,
    aws_vpc_security_group_egress_rule.database, aws_vpc_security_group_ingress_rule.database,
  ]
}

output "groups" {
  description = "Security groups, by kind of machine."
  value       = local.groups
}

output "s3_ranges" {
  description = "Addresses that are reached through the gateway to S3."
  value       = aws_vpc_endpoint.s3.cidr_blocks
}

output "database" {
  description = "Postgres."
  value = {
    arn        = aws_db_instance.this.arn
    identifier = aws_db_instance.this.identifier
    host       = aws_db_instance.this.address
    port       = tostring(aws_db_instance.this.port)
    address    = "${aws_db_instance.this.address}:${aws_db_instance.this.port}"
    secret     = aws_db_instance.this.master_user_secret[0].secret_arn
  }
}

output "group_name" {
  description = "Auto Scaling group of the workers."
  value       = aws_autoscaling_group.workers.name
}

output "profiles" {
  description = "Instance profile of each kind of machine."
  value       = { for name, profile in aws_iam_instance_profile.machine : name => profile.name }
}

output "process_roles" {
  description = "Role of each process."
  value       = { for name, role in aws_iam_role.process : name => role.arn }
}

output "user_data" {
  description = "User data of each kind of machine."
  value       = local.user_data
}

output "dashboard" {
  description = "Address of the dashboard."
  value       = "https://${var.region}.console.aws.amazon.com/cloudwatch/home?region=${var.region}#dashboards:name=${aws_cloudwatch_dashboard.this.dashboard_name}"
}
