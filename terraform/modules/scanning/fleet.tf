module "fleet" {
  source = "../fleet"

  name             = var.name
  service          = var.name
  region           = var.region
  namespace        = local.namespace
  network_cidr     = var.network_cidr
  machine_logs     = var.machine_logs
  alerts_topic_arn = var.alerts_topic_arn
  other_cores      = var.console ? 2 : 0
  # The console's security group is the workers'.
  other_groups = {}

  written = {
    Action = [
      "s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject",
      "s3:ListBucketVersions", "s3:GetObjectVersion", "s3:DeleteObjectVersion",
    ]
    Resource = flatten([for bucket in [local.site, local.archive, local.kept] : [bucket, "${bucket}/*"]])
  }

  workers = {
    name              = local.fleet_name
    description       = "EveryTab's worker"
    one               = "worker"
    word              = "workers"
    fetch             = "Icons"
    machine           = "worker"
    group             = "worker"
    group_description = "Workers and console: a few ports out, nothing in"
    ami_id            = var.ami_id
    architecture      = var.architecture
    instance_types    = var.instance_types
    volume_gb         = var.root_volume_gb
  }

  group = {
    sized_by = "worker_count"
    # The last worker that leaves reduces the group to 0.
    min_size              = 0
    max_size              = var.worker_count
    desired_capacity      = var.worker_count
    on_demand_base        = var.on_demand_base
    on_demand_percentage  = var.on_demand_percentage
    force_delete          = true
    default_cooldown      = 0
    max_instance_lifetime = 0
    termination_policies  = ["NewestInstance"]
  }

  # The database exists only during a scan, so it needs neither redundancy nor backups.
  database = {
    instance_class   = var.database_instance_class
    version          = var.database_version
    storage_gb       = var.database_storage_gb
    storage_limit_gb = var.database_storage_limit_gb
    # A worker has up to 5 connections, so 200 workers have 1,000. RDS's default for 8 GB is
    # 830.
    max_connections        = 1200
    backup_days            = 0
    backups_go_with_it     = true
    protected              = false
    group_description      = "Postgres: from the workers alone"
    parameters_description = "Few large appends, one small hot table"
    # The root module refuses to remove the database, or to change its crawl, without this name.
    tags = { Scan = var.crawl }
  }

  machines  = local.machines
  processes = local.processes
  settings  = local.settings

  dashboard = { name = "${var.name}-scan", widgets = local.widgets }
  # Each alarm would send an OK mail when it is created.
  mails_when_well = false
  alarms = {
    database-connections = {
      description = "Postgres has more connections than 180 workers open. At 1,200 it rejects new ones."
      namespace   = "AWS/RDS"
      metric      = "DatabaseConnections"
      comparison  = "GreaterThanThreshold"
      statistic   = "Maximum"
      threshold   = 1000
      periods     = 2
    }
  }
}
