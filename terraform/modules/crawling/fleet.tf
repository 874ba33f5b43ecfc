# The crawlers: one launch template, one Auto Scaling group of spot and on-demand instances, whose size follows the
# hosts that are due.

locals {
  # Two cores each; four instance families and more, so that at least one has spot capacity.
  instance_types = coalesce(var.instance_types, {
    arm64  = ["c7g.large", "c8g.large", "c6g.large", "c7gn.large", "m7g.large", "m6g.large"]
    x86_64 = ["c7a.large", "c7i.large", "c6a.large", "c6i.large", "m7a.large", "m6i.large"]
  }[var.architecture])
}

data "aws_ami" "crawler" {
  #checkov:skip=CKV_AWS_386:the image is named by its id and is the account's own
  owners = ["self"]

  filter {
    name   = "image-id"
    values = [var.ami_id]
  }
}

# As for a scan's fleet: a group that may not start a machine says so nowhere but in its activities.
data "aws_servicequotas_service_quota" "cores" {
  for_each = { spot = "L-34B43A08", on_demand = "L-1216C47A" }

  service_code = "ec2"
  quota_code   = each.value
}

locals {
  # The size says the cores: medium 1, large 2, xlarge 4, 2xlarge 8.
  size            = split(".", local.instance_types[0])[1]
  cores           = lookup({ medium = 1, large = 2, xlarge = 4 }, local.size, try(4 * tonumber(trimsuffix(local.size, "xlarge")), 2))
  on_demand       = min(var.workers_max, var.on_demand_base)
  spot_cores      = (var.workers_max - local.on_demand) * local.cores
  on_demand_cores = local.on_demand * local.cores + 2 * (var.api_machines + 1)
}

resource "aws_launch_template" "crawler" {
  name                                 = local.fleet_name
  description                          = "EveryTab's crawler"
  image_id                             = var.ami_id
  instance_type                        = local.instance_types[0]
  ebs_optimized                        = true
  update_default_version               = true
  instance_initiated_shutdown_behavior = "terminate"
  user_data                            = local.user_data.crawl

  iam_instance_profile {
    arn = aws_iam_instance_profile.crawl_machine.arn
  }

  # IMDSv2 only, and not for containers (one hop).
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  network_interfaces {
    #checkov:skip=CKV_AWS_88:crawlers fetch from the internet by addresses of their own, and nothing may come in
    device_index                = 0
    associate_public_ip_address = true
    delete_on_termination       = true
    security_groups             = [aws_security_group.crawler.id]

    # The default timeouts of connection tracking would fill its table: a crawler makes many connections.
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
      volume_size           = var.root_volume_gb
      iops                  = 3000
      throughput            = 125
      encrypted             = "true"
      delete_on_termination = "true"
    }
  }

  tag_specifications {
    resource_type = "instance"
    tags          = { Name = local.fleet_name, Project = var.name }
  }

  tag_specifications {
    resource_type = "volume"
    tags          = { Name = local.fleet_name, Project = var.name }
  }
}

resource "aws_autoscaling_group" "crawlers" {
  name                = local.fleet_name
  vpc_zone_identifier = aws_subnet.crawls[*].id
  min_size            = var.workers_min
  max_size            = var.workers_max
  # Without a desired capacity: the policy below sets it, and no apply sets it back.
  capacity_rebalance      = true
  health_check_type       = "EC2"
  default_instance_warmup = 300
  termination_policies    = ["OldestLaunchTemplate", "NewestInstance"]
  enabled_metrics         = ["GroupInServiceInstances", "GroupDesiredCapacity", "GroupTotalInstances"]
  # There may be no spot capacity yet: apply must not fail for that.
  wait_for_capacity_timeout = "0"

  mixed_instances_policy {
    instances_distribution {
      on_demand_base_capacity                  = var.on_demand_base
      on_demand_percentage_above_base_capacity = 0
      on_demand_allocation_strategy            = "lowest-price"
      spot_allocation_strategy                 = "price-capacity-optimized"
    }

    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.crawler.id
        version            = aws_launch_template.crawler.latest_version
      }

      dynamic "override" {
        for_each = local.instance_types

        content {
          instance_type = override.value
        }
      }
    }
  }

  # Time to put the last archives and give the slots back: a machine in this state gets no signal; its crawler polls
  # the metadata service. If it does not get that far, others have its slots after 30 s, and nothing is lost.
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
    # Without this the group would try for ever, and nobody would be told.
    precondition {
      condition     = local.spot_cores <= data.aws_servicequotas_service_quota.cores["spot"].value && local.on_demand_cores <= data.aws_servicequotas_service_quota.cores["on_demand"].value
      error_message = "The account's quotas are too small: ${var.workers_max} crawlers, the HTTP service and the console take ${local.spot_cores} spot cores of ${data.aws_servicequotas_service_quota.cores["spot"].value} (quota L-34B43A08) and ${local.on_demand_cores} on-demand cores of ${data.aws_servicequotas_service_quota.cores["on_demand"].value} (L-1216C47A). Ask for more in Service Quotas, or lower crawl_workers_max."
    }
    precondition {
      condition     = data.aws_ami.crawler.architecture == var.architecture
      error_message = "The image ${var.ami_id} is for ${data.aws_ami.crawler.architecture}, the instance types are for ${var.architecture}."
    }
  }

  # A crawler needs its rights and its ways out as soon as it is up; and the network must not go before the machines.
  depends_on = [
    aws_iam_role_policy.crawl_machine, aws_iam_role_policy.crawler, aws_route.crawls,
    aws_route_table_association.crawls, aws_vpc_endpoint.crawls,
    aws_vpc_security_group_egress_rule.crawler, aws_vpc_security_group_egress_rule.database,
    aws_vpc_security_group_ingress_rule.database,
  ]
}

# So many machines that each has about as many due hosts as it can ask. AWS adds machines after three minutes above
# the target, and takes one away after fifteen below nine tenths of it; a machine counts five minutes after its start.
resource "aws_autoscaling_policy" "follow" {
  name                      = "${local.fleet_name}-follow-due-hosts"
  autoscaling_group_name    = aws_autoscaling_group.crawlers.name
  policy_type               = "TargetTrackingScaling"
  estimated_instance_warmup = 300

  target_tracking_configuration {
    target_value     = var.hosts_per_worker
    disable_scale_in = false

    customized_metric_specification {
      namespace   = local.namespace
      metric_name = "DueHostsPerWorker"
      statistic   = "Average"

      metric_dimension {
        name  = "Fleet"
        value = local.fleet_name
      }
    }
  }
}
