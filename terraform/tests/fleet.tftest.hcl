# Every group of machines and its Postgres must have these properties, whatever the caller's
# values.

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
    error_message = "instance metadata must require version 2 and one hop"
  }
  assert {
    condition     = aws_launch_template.worker.block_device_mappings[0].ebs[0].encrypted == "true" && aws_launch_template.worker.block_device_mappings[0].ebs[0].volume_type == "gp3"
    error_message = "disks must be gp3 and encrypted"
  }
  assert {
    condition     = aws_launch_template.worker.key_name == null || startswith(coalesce(aws_launch_template.worker.key_name, "made-up"), "made-up")
    error_message = "there must be no SSH key, because shells are opened through SSM"
  }
  assert {
    condition     = aws_launch_template.worker.instance_initiated_shutdown_behavior == "terminate" && aws_launch_template.worker.block_device_mappings[0].ebs[0].delete_on_termination == "true"
    error_message = "a machine that is switched off must be terminated with its disk"
  }
  assert {
    condition     = startswith(base64decode(aws_launch_template.worker.user_data), "#cloud-config\n") && yamldecode(base64decode(aws_launch_template.worker.user_data)).write_files[0] == { content = "A=\"b\"\n", owner = "root:everytab", path = "/etc/everytab/group.env", permissions = "0640" }
    error_message = "user data must be cloud-config, and its files must not be readable by all users"
  }
  assert {
    condition     = aws_autoscaling_group.workers.capacity_rebalance && one(aws_autoscaling_group.workers.initial_lifecycle_hook[*].lifecycle_transition) == "autoscaling:EC2_INSTANCE_TERMINATING" && one(aws_autoscaling_group.workers.initial_lifecycle_hook[*].heartbeat_timeout) >= 120 && one(aws_autoscaling_group.workers.initial_lifecycle_hook[*].default_result) == "CONTINUE"
    error_message = "a machine that is terminated must have time to drain"
  }
  assert {
    condition     = length(aws_autoscaling_group.workers.mixed_instances_policy[0].launch_template[0].override) >= 4 && aws_autoscaling_group.workers.mixed_instances_policy[0].instances_distribution[0].spot_allocation_strategy == "price-capacity-optimized"
    error_message = "spot capacity must be chosen from at least four types, by price and capacity"
  }
  assert {
    condition     = !aws_db_instance.this.publicly_accessible && aws_db_instance.this.storage_encrypted && aws_db_instance.this.manage_master_user_password && aws_db_instance.this.iam_database_authentication_enabled && startswith(nonsensitive(coalesce(aws_db_instance.this.password, "made-up")), "made-up")
    error_message = "Postgres must be private and encrypted, with a password that AWS manages"
  }
  assert {
    condition     = aws_db_instance.this.max_allocated_storage > aws_db_instance.this.allocated_storage && length(aws_db_instance.this.vpc_security_group_ids) == 1
    error_message = "Postgres's storage must grow, and Postgres must be only in its own group"
  }
  assert {
    condition     = contains([for p in aws_db_parameter_group.this.parameter : "${p.name}=${p.value}"], "rds.force_ssl=1")
    error_message = "Postgres must require TLS"
  }
  assert {
    condition     = alltrue([for rule in values(aws_vpc_security_group_ingress_rule.database) : rule.from_port == 5432 && rule.to_port == 5432 && startswith(coalesce(rule.cidr_ipv4, "made-up"), "made-up")])
    error_message = "only Postgres's port may be open, only for groups and not for address ranges"
  }
  assert {
    condition     = length(distinct(aws_subnet.public[*].availability_zone)) == 5 && !contains(aws_subnet.public[*].availability_zone, "us-east-1a") && alltrue(aws_subnet.public[*].map_public_ip_on_launch)
    error_message = "there must be five zones without use1-az3, whose subnets assign public addresses"
  }
  assert {
    condition     = aws_vpc_endpoint.s3.vpc_endpoint_type == "Gateway"
    error_message = "S3 must be reached through the free gateway"
  }
}

run "quotas" {
  command = plan
  module {
    source = "./modules/fleet"
  }
  # The quota of a new account.
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
