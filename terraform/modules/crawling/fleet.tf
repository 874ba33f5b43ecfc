module "fleet" {
  source = "../fleet"

  name             = var.name
  service          = local.service
  region           = var.region
  namespace        = local.namespace
  network_cidr     = var.network_cidr
  machine_logs     = var.machine_logs
  alerts_topic_arn = var.alerts_topic_arn
  # The cores of the HTTP service and the console.
  other_cores = 2 * (var.api_machines + 1)
  # fence-api restricts the HTTP service's process further.
  other_groups = {
    api     = { name = "api", description = "HTTP service: AWS and Postgres out, HTTPS in where that is said" }
    console = { name = "crawl-console", description = "Console of the crawl service: AWS and Postgres out, nothing in" }
  }

  written = {
    Action   = ["s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"]
    Resource = "${module.pages.arn}/*"
  }

  workers = {
    name              = local.fleet_name
    description       = "EveryTab's crawler"
    one               = "crawler"
    word              = "crawler"
    fetch             = "Pages"
    machine           = "crawl-machine"
    group             = "crawler"
    group_description = "Crawlers: a few ports out, nothing in"
    ami_id            = var.ami_id
    architecture      = var.architecture
    instance_types    = var.instance_types
    volume_gb         = var.root_volume_gb
  }

  # The policy below sets the desired capacity, and an apply must not reset it.
  group = {
    sized_by             = "crawl_workers_max"
    min_size             = var.workers_min
    max_size             = var.workers_max
    on_demand_base       = var.on_demand_base
    on_demand_percentage = 0
    warmup               = 300
    termination_policies = ["OldestLaunchTemplate", "NewestInstance"]
  }

  # A scan's database lives for days, but this one for years. It is backed up each day, and can
  # be restored to any second in the last two weeks, even after it was destroyed.
  database = {
    instance_class   = var.database_instance_class
    version          = var.database_version
    multi_az         = var.database_multi_az
    storage_gb       = var.database_storage_gb
    storage_limit_gb = var.database_storage_limit_gb
    # 5 for each of 100 crawlers, 4 HTTP services, the console, and operators' sessions.
    max_connections        = 700
    backup_days            = 14
    backup_window          = "06:00-06:30"
    backups_go_with_it     = false
    protected              = var.protected
    group_description      = "Postgres: from the service's machines alone"
    parameters_description = "Appends, and a few small hot tables"
    # The root module makes no plan that destroys a protected database (main.tf), because AWS
    # would refuse only after half of the service is gone.
    tags = { Protected = tostring(var.protected) }
  }

  machines  = local.machines
  processes = local.processes
  settings  = local.settings

  dashboard       = { name = local.service, widgets = local.widgets }
  mails_when_well = true
  alarms          = local.alarms
}

# Runs as many instances as the due hosts need. AWS adds instances after three minutes above the
# target, and removes one after fifteen minutes below nine tenths of it. A new instance counts
# after five minutes.
resource "aws_autoscaling_policy" "follow" {
  name                      = "${local.fleet_name}-follow-due-hosts"
  autoscaling_group_name    = module.fleet.group_name
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
