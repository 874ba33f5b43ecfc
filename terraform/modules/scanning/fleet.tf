# The workers: one launch template, one Auto Scaling group of spot and on-demand instances.

locals {
  # Two cores each; four instance families, so that at least one has spot capacity.
  instance_types = coalesce(var.instance_types, {
    arm64  = ["c7g.large", "c8g.large", "c6g.large", "c7gn.large", "m7g.large", "m6g.large"]
    x86_64 = ["c7a.large", "c7i.large", "c6a.large", "c6i.large", "m7a.large", "m6i.large"]
  }[var.architecture])

  # The settings of this scan, which the units of the worker's package read.
  worker_environment = merge(
    {
      DATABASE_URL            = "postgres://everytab_worker@${local.database}?sslmode=verify-full&sslrootcert=/etc/everytab/rds-ca.pem"
      PGPASSFILE              = "/run/everytab/pgpass"
      AWS_REGION              = var.region
      EVERYTAB_EXIT_WHEN_DONE = "true"
      EVERYTAB_IN_FLIGHT      = tostring(var.requests_in_flight)
    },
    var.user_agent == null ? {} : { EVERYTAB_USER_AGENT = var.user_agent },
  )
  scan_environment = merge(
    {
      DATABASE_URL          = "postgres://everytab_owner@${local.database}?sslmode=verify-full&sslrootcert=/etc/everytab/rds-ca.pem"
      AWS_REGION            = var.region
      EVERYTAB_OWNER_SECRET = aws_db_instance.scan.master_user_secret[0].secret_arn
      EVERYTAB_CRAWL        = var.crawl
      EVERYTAB_SOURCE       = "s3://commoncrawl"
      EVERYTAB_ARCHIVE      = "s3://${module.archive.name}"
      EVERYTAB_SITE         = "s3://${var.site_bucket}"
      EVERYTAB_PRIVATE      = "s3://${var.kept_bucket}"
      EVERYTAB_DISTRIBUTION = var.distribution_id
    },
    var.host_limit == null ? {} : { EVERYTAB_LIMIT = tostring(var.host_limit) },
  )
  group_environment = {
    AWS_REGION         = var.region
    EVERYTAB_FLEET     = local.fleet_name
    EVERYTAB_NAMESPACE = local.namespace
  }
  token_environment = {
    AWS_REGION = var.region
    PGHOST     = aws_db_instance.scan.address
    PGPORT     = tostring(aws_db_instance.scan.port)
    PGUSER     = "everytab_worker"
  }
  database = "${aws_db_instance.scan.address}:${aws_db_instance.scan.port}/everytab"

  environments = {
    "/etc/everytab/worker.env" = { values = local.worker_environment, owner = "root:everytab" }
    "/etc/everytab/scan.env"   = { values = local.scan_environment, owner = "root:everytab-owner" }
    "/etc/everytab/token.env"  = { values = local.token_environment, owner = "root:everytab" }
    "/etc/everytab/group.env"  = { values = local.group_environment, owner = "root:everytab" }
  }
  user_data = {
    write_files = [for path, file in local.environments : {
      path        = path
      owner       = file.owner
      permissions = "0640"
      content     = join("", [for name, value in file.values : "${name}=\"${value}\"\n"])
    }]
    runcmd = [["systemctl", "enable", "--now", "--no-block", "everytab.target"]]
  }
}

resource "aws_launch_template" "worker" {
  name                                 = local.fleet_name
  description                          = "EveryTab's worker"
  image_id                             = var.ami_id
  instance_type                        = local.instance_types[0]
  ebs_optimized                        = true
  update_default_version               = true
  instance_initiated_shutdown_behavior = "terminate"
  user_data                            = base64encode("#cloud-config\n${yamlencode(local.user_data)}")

  iam_instance_profile {
    arn = aws_iam_instance_profile.worker.arn
  }

  # IMDSv2 only, and not for containers (one hop).
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  network_interfaces {
    #checkov:skip=CKV_AWS_88:workers fetch from the internet by addresses of their own, and nothing may come in
    device_index                = 0
    associate_public_ip_address = true
    delete_on_termination       = true
    security_groups             = [aws_security_group.worker.id]

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

resource "aws_autoscaling_group" "workers" {
  name                = local.fleet_name
  vpc_zone_identifier = aws_subnet.public[*].id
  # The last worker that leaves reduces the group to 0.
  min_size              = 0
  max_size              = var.worker_count
  desired_capacity      = var.worker_count
  capacity_rebalance    = true
  health_check_type     = "EC2"
  force_delete          = true
  default_cooldown      = 0
  termination_policies  = ["NewestInstance"]
  max_instance_lifetime = 0
  enabled_metrics       = ["GroupInServiceInstances", "GroupDesiredCapacity", "GroupTotalInstances"]
  # There may be no spot capacity yet: apply must not fail for that.
  wait_for_capacity_timeout = "0"

  mixed_instances_policy {
    instances_distribution {
      on_demand_base_capacity                  = var.on_demand_base
      on_demand_percentage_above_base_capacity = var.on_demand_percentage
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

  # Time to drain: a machine in this state gets no signal; its worker polls the metadata service.
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

  # The first worker starts the scan, and needs the buckets, the database and the network rules.
  depends_on = [aws_iam_role_policy.worker, aws_route.internet, aws_vpc_endpoint.s3]
}
