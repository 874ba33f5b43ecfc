# The machines that fetch: a launch template, and an Auto Scaling group with spot and on-demand
# instances.

locals {
  # Types with two cores. There are at least four instance families, so that at least one has
  # spot capacity.
  instance_types = coalesce(var.workers.instance_types, {
    arm64  = ["c7g.large", "c8g.large", "c6g.large", "c7gn.large", "m7g.large", "m6g.large"]
    x86_64 = ["c7a.large", "c7i.large", "c6a.large", "c6i.large", "m7a.large", "m6i.large"]
  }[var.workers.architecture])
}

data "aws_ami" "worker" {
  #checkov:skip=CKV_AWS_386:the image is selected by ID and belongs to this account
  owners = ["self"]

  filter {
    name   = "image-id"
    values = [var.workers.ami_id]
  }
}

# A new account may run five cores of each kind. If a group may not start an instance, only the
# group's activities show this.
data "aws_servicequotas_service_quota" "cores" {
  for_each = { spot = "L-34B43A08", on_demand = "L-1216C47A" }

  service_code = "ec2"
  quota_code   = each.value
}

locals {
  # An instance's size determines its cores: medium 1, large 2, xlarge 4, 2xlarge 8.
  size            = split(".", local.instance_types[0])[1]
  cores           = lookup({ medium = 1, large = 2, xlarge = 4 }, local.size, try(4 * tonumber(trimsuffix(local.size, "xlarge")), 2))
  beyond_base     = max(0, var.group.max_size - var.group.on_demand_base)
  on_demand       = min(var.group.max_size, var.group.on_demand_base) + ceil(local.beyond_base * var.group.on_demand_percentage / 100)
  spot_cores      = (var.group.max_size - local.on_demand) * local.cores
  on_demand_cores = local.on_demand * local.cores + var.other_cores
}

resource "aws_launch_template" "worker" {
  name                                 = var.workers.name
  description                          = var.workers.description
  image_id                             = var.workers.ami_id
  instance_type                        = local.instance_types[0]
  ebs_optimized                        = true
  update_default_version               = true
  instance_initiated_shutdown_behavior = "terminate"
  user_data                            = local.user_data[var.workers.machine]

  iam_instance_profile {
    arn = aws_iam_instance_profile.machine[var.workers.machine].arn
  }

  # IMDSv2 only, and not for containers (one hop).
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  network_interfaces {
    #checkov:skip=CKV_AWS_88:machines fetch from the internet over public addresses, and accept no connections
    device_index                = 0
    associate_public_ip_address = true
    delete_on_termination       = true
    security_groups             = [aws_security_group.worker.id]

    # A crawler makes many connections, which would fill the connection tracking table with its
    # default timeouts.
    connection_tracking_specification {
      tcp_established_timeout = 120
      udp_stream_timeout      = 60
      udp_timeout             = 30
    }
  }

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      volume_type           = "gp3"
      volume_size           = var.workers.volume_gb
      iops                  = 3000
      throughput            = 125
      encrypted             = "true"
      delete_on_termination = "true"
    }
  }

  dynamic "tag_specifications" {
    for_each = ["instance", "volume"]

    content {
      resource_type = tag_specifications.value
      tags          = { Name = var.workers.name, Project = var.name }
    }
  }
}

resource "aws_autoscaling_group" "workers" {
  name                    = var.workers.name
  vpc_zone_identifier     = aws_subnet.public[*].id
  min_size                = var.group.min_size
  max_size                = var.group.max_size
  desired_capacity        = var.group.desired_capacity
  capacity_rebalance      = true
  health_check_type       = "EC2"
  force_delete            = var.group.force_delete
  default_cooldown        = var.group.default_cooldown
  default_instance_warmup = var.group.warmup
  termination_policies    = var.group.termination_policies
  max_instance_lifetime   = var.group.max_instance_lifetime
  enabled_metrics         = ["GroupInServiceInstances", "GroupDesiredCapacity", "GroupTotalInstances"]
  # There may be no spot capacity yet, and apply must not fail because of this.
  wait_for_capacity_timeout = "0"

  mixed_instances_policy {
    instances_distribution {
      on_demand_base_capacity                  = var.group.on_demand_base
      on_demand_percentage_above_base_capacity = var.group.on_demand_percentage
      on_demand_allocation_strategy            = "lowest-price"
      spot_allocation_strategy                 = "price-capacity-optimized"
    }

    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.worker.id
        version            = aws_launch_template.worker.latest_version
      }

      dynamic "override" {
        for_each = local.instance_types

        content {
          instance_type = override.value
        }
      }
    }
  }

  # Time for a drain. An instance in this state gets no signal, so its worker polls the metadata
  # service. Other workers take over unfinished work when its leases or slots have expired.
  initial_lifecycle_hook {
    name                 = "drain"
    lifecycle_transition = "autoscaling:EC2_INSTANCE_TERMINATING"
    heartbeat_timeout    = 150
    default_result       = "CONTINUE"
  }

  tag {
    key                 = "Project"
    value               = var.name
    propagate_at_launch = true
  }

  lifecycle {
    # Without this check the group would try forever without an error
    # (wait_for_capacity_timeout).
    precondition {
      condition     = local.spot_cores <= data.aws_servicequotas_service_quota.cores["spot"].value && local.on_demand_cores <= data.aws_servicequotas_service_quota.cores["on_demand"].value
      error_message = "The account's quotas are too small: ${var.group.max_size} machines of ${var.workers.name} and the other machines take ${local.spot_cores} spot cores of ${data.aws_servicequotas_service_quota.cores["spot"].value} (quota L-34B43A08) and ${local.on_demand_cores} on-demand cores of ${data.aws_servicequotas_service_quota.cores["on_demand"].value} (L-1216C47A). Request more in Service Quotas, or lower ${var.group.sized_by}."
    }
    precondition {
      condition     = data.aws_ami.worker.architecture == var.workers.architecture
      error_message = "The image ${var.workers.ami_id} is for ${data.aws_ami.worker.architecture}, the instance types are for ${var.workers.architecture}."
    }
  }

  # An instance needs its permissions and outgoing connections as soon as it is running. The
  # network must not be destroyed before the instances.
  depends_on = [
    aws_iam_role_policy.this, aws_route.internet,
    aws_route_table_association.public, aws_vpc_endpoint.s3,
    aws_vpc_security_group_egress_rule.worker, aws_vpc_security_group_egress_rule.database,
    aws_vpc_security_group_ingress_rule.database,
  ]
}
