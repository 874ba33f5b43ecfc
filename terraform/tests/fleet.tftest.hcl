# What must hold of every group of machines and its Postgres, whatever a caller says.

variables {
  name             = "everytab"
  service          = "everytab"
  region           = "us-east-1"
  namespace        = "EveryTab"
  network_cidr     = "10.83.0.0/16"
  machine_logs     = "/everytab/machines"
  alerts_topic_arn = "arn:aws:sns:us-east-1:123456789012:everytab-alerts"
  other_cores      = 2
  other_groups     = { api = { name = "api", description = "api" } }
  written          = { Action = ["s3:PutObject"], Resource = "arn:aws:s3:::everytab-archive-123456789012/*" }
  workers = {
    name              = "everytab-workers"
    description       = "worker"
    one               = "worker"
    word              = "workers"
    fetch             = "Icons"
    machine           = "worker"
    group             = "worker"
    group_description = "workers"
    ami_id            = "ami-0123456789abcdef0"
    architecture      = "arm64"
    instance_types    = null
    volume_gb         = 16
  }
  group = {
    sized_by             = "worker_count"
    min_size             = 0
    max_size             = 8
    on_demand_base       = 1
    on_demand_percentage = 0
    termination_policies = ["NewestInstance"]
  }
  database = {
    instance_class         = "db.t4g.large"
    version                = "17"
    storage_gb             = 100
    storage_limit_gb       = 400
    max_connections        = 700
    backup_days            = 0
    backups_go_with_it     = true
    protected              = false
    group_description      = "Postgres"
    parameters_description = "Postgres"
    tags                   = {}
  }
  machines        = { worker = { description = "machines", policy = "machine", statements = [] } }
  processes       = { scanner = { machine = "worker", description = "processes", policy = "scan", user = "everytab_worker", statements = [] } }
  settings        = { worker = { start = ["everytab.target"], files = { "group.env" = { values = { A = "b" }, owner = "root:everytab" } } } }
  dashboard       = { name = "everytab-scan", widgets = [] }
  mails_when_well = false
  alarms          = {}
}

run "fleet" {
  command = apply
  module {
    source = "./modules/fleet"
  }

  assert {
    condition     = aws_launch_template.worker.metadata_options[0].http_tokens == "required" && aws_launch_template.worker.metadata_options[0].http_put_response_hop_limit == 1
    error_message = "instance metadata by version 2 alone, no further than the instance"
  }
  assert {
    condition     = aws_launch_template.worker.block_device_mappings[0].ebs[0].encrypted == "true" && aws_launch_template.worker.block_device_mappings[0].ebs[0].volume_type == "gp3"
    error_message = "disks are gp3 and encrypted"
  }
  assert {
    condition     = aws_launch_template.worker.key_name == null || startswith(coalesce(aws_launch_template.worker.key_name, "made-up"), "made-up")
    error_message = "no SSH key: shells are SSM's"
  }
  assert {
    condition     = aws_launch_template.worker.instance_initiated_shutdown_behavior == "terminate" && aws_launch_template.worker.block_device_mappings[0].ebs[0].delete_on_termination == "true"
    error_message = "a machine that is off costs nothing, nor does its disk"
  }
  assert {
    condition     = startswith(base64decode(aws_launch_template.worker.user_data), "#cloud-config\n") && yamldecode(base64decode(aws_launch_template.worker.user_data)).write_files[0] == { content = "A=\"b\"\n", owner = "root:everytab", path = "/etc/everytab/group.env", permissions = "0640" }
    error_message = "user data is cloud-config, and its files are not readable by all users"
  }
  assert {
    condition     = aws_autoscaling_group.workers.capacity_rebalance && one(aws_autoscaling_group.workers.initial_lifecycle_hook[*].lifecycle_transition) == "autoscaling:EC2_INSTANCE_TERMINATING" && one(aws_autoscaling_group.workers.initial_lifecycle_hook[*].heartbeat_timeout) >= 120 && one(aws_autoscaling_group.workers.initial_lifecycle_hook[*].default_result) == "CONTINUE"
    error_message = "a machine that has to go has time to drain, and goes"
  }
  assert {
    condition     = length(aws_autoscaling_group.workers.mixed_instances_policy[0].launch_template[0].override) >= 4 && aws_autoscaling_group.workers.mixed_instances_policy[0].instances_distribution[0].spot_allocation_strategy == "price-capacity-optimized"
    error_message = "spot capacity is sought among four types at least, by price and capacity"
  }
  assert {
    condition     = !aws_db_instance.this.publicly_accessible && aws_db_instance.this.storage_encrypted && aws_db_instance.this.manage_master_user_password && aws_db_instance.this.iam_database_authentication_enabled && startswith(nonsensitive(coalesce(aws_db_instance.this.password, "made-up")), "made-up")
    error_message = "Postgres is private and encrypted, and no password of it is ours"
  }
  assert {
    condition     = aws_db_instance.this.max_allocated_storage > aws_db_instance.this.allocated_storage && length(aws_db_instance.this.vpc_security_group_ids) == 1
    error_message = "Postgres's storage grows, and it is in its own group alone"
  }
  assert {
    condition     = contains([for p in aws_db_parameter_group.this.parameter : "${p.name}=${p.value}"], "rds.force_ssl=1")
    error_message = "Postgres speaks TLS alone"
  }
  assert {
    condition     = alltrue([for rule in values(aws_vpc_security_group_ingress_rule.database) : rule.from_port == 5432 && rule.to_port == 5432 && startswith(coalesce(rule.cidr_ipv4, "made-up"), "made-up")])
    error_message = "Postgres's port and no other, for groups alone, of no address range"
  }
  assert {
    condition     = length(distinct(aws_subnet.public[*].availability_zone)) == 5 && !contains(aws_subnet.public[*].availability_zone, "us-east-1a") && alltrue(aws_subnet.public[*].map_public_ip_on_launch)
    error_message = "five zones, without the one whose id is use1-az3, and machines have addresses from them"
  }
  assert {
    condition     = aws_vpc_endpoint.s3.vpc_endpoint_type == "Gateway"
    error_message = "S3 by the gateway that costs nothing"
  }
}

run "quotas" {
  command = plan
  module {
    source = "./modules/fleet"
  }
  # What a new account has.
  override_data {
    target = data.aws_servicequotas_service_quota.cores
    values = { value = 5 }
  }
  expect_failures = [aws_autoscaling_group.workers]
}

run "image_of_another_architecture" {
  command = plan
  module {
    source = "./modules/fleet"
  }
  override_data {
    target = data.aws_ami.worker
    values = { architecture = "x86_64" }
  }
  expect_failures = [aws_autoscaling_group.workers]
}
