# The files that cloud-init writes on each machine, and the target that it starts.

locals {
  owner_url  = "postgres://everytab_owner@${local.database}?sslmode=verify-full&sslrootcert=/etc/everytab/rds-ca.pem"
  worker_url = "postgres://everytab_worker@${local.database}?sslmode=verify-full&sslrootcert=/etc/everytab/rds-ca.pem"
  database   = "${module.fleet.database.address}/everytab"

  # A worker performs every kind of job except publishing, for which its role has no rights.
  worker_environment = {
    DATABASE_URL            = local.worker_url
    PGPASSFILE              = "/run/everytab/pgpass"
    AWS_REGION              = var.region
    EVERYTAB_ROLE           = "index,warc,icons,bundles"
    EVERYTAB_EXIT_WHEN_DONE = "true"
    EVERYTAB_IN_FLIGHT      = tostring(var.requests_in_flight)
    EVERYTAB_SIGNING_KEY    = "/run/credentials/everytab-worker.service/signing-key"
  }
  # The console's worker publishes. It continues after the scan has ended, because the scan may
  # be retried.
  publisher_environment = {
    DATABASE_URL  = local.worker_url
    PGPASSFILE    = "/run/everytab/pgpass"
    AWS_REGION    = var.region
    EVERYTAB_ROLE = "publish"
  }
  broker_environment = {
    AWS_REGION              = var.region
    EVERYTAB_PROCESS_ROLE   = module.fleet.process_roles["scanner"]
    EVERYTAB_SIGNING_SECRET = var.signing_secret_arn
  }
  scan_environment = merge(
    {
      DATABASE_URL          = local.owner_url
      AWS_REGION            = var.region
      EVERYTAB_OWNER_SECRET = module.fleet.database.secret
      EVERYTAB_CRAWL        = var.crawl
      EVERYTAB_SOURCE       = "s3://commoncrawl"
      EVERYTAB_ARCHIVE      = "s3://${module.archive.name}"
      EVERYTAB_SITE         = "s3://${var.site_bucket}"
      EVERYTAB_PRIVATE      = "s3://${var.kept_bucket}"
      EVERYTAB_DISTRIBUTION = var.distribution_id
      EVERYTAB_SITE_URL     = coalesce(var.site_url, var.site_address)
      EVERYTAB_CONTACT      = var.contact
      EVERYTAB_TEMPORARY    = "/var/lib/everytab-console"
      EVERYTAB_STOP_WHEN    = var.stop_when
      EVERYTAB_DATABASE     = module.fleet.database.identifier
      EVERYTAB_ALERTS       = var.alerts_topic_arn
    },
    var.archive_rate == null ? {} : { EVERYTAB_ARCHIVE_RATE = tostring(var.archive_rate) },
    var.host_limit == null ? {} : { EVERYTAB_LIMIT = tostring(var.host_limit) },
    var.migrate_running_scan ? { EVERYTAB_MIGRATE_RUNNING_SCAN = "true" } : {},
  )
  group_environment = {
    AWS_REGION         = var.region
    EVERYTAB_FLEET     = local.fleet_name
    EVERYTAB_NAMESPACE = local.namespace
    EVERYTAB_LOGS      = var.machine_logs
    EVERYTAB_METRICS   = "127.0.0.1:9464"
  }
  token_environment = {
    AWS_REGION = var.region
    PGHOST     = module.fleet.database.host
    PGPORT     = module.fleet.database.port
    PGUSER     = "everytab_worker"
  }

  settings = {
    worker = {
      start = ["everytab.target"]
      files = {
        "worker.env" = { values = local.worker_environment, owner = "root:everytab" }
        "broker.env" = { values = local.broker_environment, owner = "root:everytab-broker" }
        "token.env"  = { values = local.token_environment, owner = "root:everytab" }
        "group.env"  = { values = local.group_environment, owner = "root:everytab" }
      }
    }
    console = {
      start = ["everytab-console.target"]
      files = {
        "worker.env" = { values = local.publisher_environment, owner = "root:everytab" }
        "broker.env" = { values = { AWS_REGION = var.region, EVERYTAB_PROCESS_ROLE = module.fleet.process_roles["publisher"] }, owner = "root:everytab-broker" }
        "scan.env"   = { values = local.scan_environment, owner = "root:everytab-owner" }
        "token.env"  = { values = local.token_environment, owner = "root:everytab" }
        "group.env"  = { values = local.group_environment, owner = "root:everytab" }
      }
    }
  }
}
