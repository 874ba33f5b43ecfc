# Postgres of the crawl service: its own, for it lives for years and a scan's for days. It is backed up each day, and
# may be brought back to any second of two weeks.

resource "aws_db_subnet_group" "crawls" {
  name       = local.service
  subnet_ids = aws_subnet.crawls[*].id
}

locals {
  parameters = {
    # TLS only.
    "rds.force_ssl" = { value = "1", apply_method = "immediate" }
    # 100 crawlers of 5, 4 HTTP services, the console, and what operators open.
    "max_connections" = { value = "700", apply_method = "pending-reboot" }
    # For appends: rare, long checkpoints, and compressed full-page images.
    "max_wal_size"                 = { value = "8192", apply_method = "immediate" }
    "checkpoint_timeout"           = { value = "900", apply_method = "immediate" }
    "checkpoint_completion_target" = { value = "0.9", apply_method = "immediate" }
    "wal_compression"              = { value = "lz4", apply_method = "immediate" }
    # Slots, buckets and hosts are small and updated often: vacuum runs often and fast.
    "autovacuum_naptime"           = { value = "15", apply_method = "immediate" }
    "autovacuum_vacuum_cost_limit" = { value = "2000", apply_method = "immediate" }
    # gp3 reads random pages almost as fast as sequential ones.
    "random_page_cost" = { value = "1.1", apply_method = "immediate" }
    # Releases the locks of a process that died in a transaction; no transaction of ours idles so long.
    "idle_in_transaction_session_timeout" = { value = "60000", apply_method = "immediate" }
    # The machines' connection tracking forgets a silent connection after 120 s (fleet.tf).
    "tcp_keepalives_idle"     = { value = "30", apply_method = "immediate" }
    "tcp_keepalives_interval" = { value = "10", apply_method = "immediate" }
    "tcp_keepalives_count"    = { value = "6", apply_method = "immediate" }
    # Messages worth reading.
    "log_min_duration_statement" = { value = "1000", apply_method = "immediate" }
    "log_lock_waits"             = { value = "1", apply_method = "immediate" }
    # The statements are too short for just-in-time compilation.
    "jit" = { value = "0", apply_method = "immediate" }
  }
}

resource "aws_db_parameter_group" "crawls" {
  name        = "${local.service}-postgres${var.database_version}"
  family      = "postgres${var.database_version}"
  description = "Appends, and a few small hot tables"

  dynamic "parameter" {
    for_each = local.parameters

    content {
      name         = parameter.key
      value        = parameter.value.value
      apply_method = parameter.value.apply_method
    }
  }
}

resource "aws_db_instance" "crawls" {
  #checkov:skip=CKV_AWS_157:a second machine doubles the cost; whoever needs minutes instead of an hour sets database_multi_az
  #checkov:skip=CKV_AWS_293:it is on unless the operator takes it off to tear the service down, which this check cannot see
  #checkov:skip=CKV_AWS_226:a restart for a minor version is at the operator's hour, with the next image
  #checkov:skip=CKV_AWS_118:metrics by the second are for finding what a minute's do not show, and cost more than the rest of the watching
  #checkov:skip=CKV_AWS_354:AWS's own key serves as well for query texts without a secret
  #checkov:skip=CKV2_AWS_30:statements over a second are logged; all of them would be the whole crawl
  #checkov:skip=CKV2_AWS_69:rds.force_ssl is set by a dynamic block, which this check does not read; a test does
  identifier     = local.service
  engine         = "postgres"
  engine_version = var.database_version
  instance_class = var.database_instance_class
  db_name        = "everytab"
  port           = 5432
  multi_az       = var.database_multi_az

  # AWS makes, stores and rotates the owner's password; the processes' roles have none: they sign in by token.
  username                            = "everytab_owner"
  manage_master_user_password         = true
  iam_database_authentication_enabled = true

  # Below 400 GB gp3 has fixed iops and throughput, which must not be set.
  storage_type          = "gp3"
  allocated_storage     = var.database_storage_gb
  max_allocated_storage = var.database_storage_limit_gb
  storage_encrypted     = true

  db_subnet_group_name   = aws_db_subnet_group.crawls.name
  vpc_security_group_ids = [aws_security_group.database.id]
  publicly_accessible    = false
  ca_cert_identifier     = "rds-ca-rsa2048-g1"
  parameter_group_name   = aws_db_parameter_group.crawls.name

  # Two weeks, also after it was destroyed.
  backup_retention_period         = 14
  backup_window                   = "06:00-06:30"
  delete_automated_backups        = false
  skip_final_snapshot             = true
  deletion_protection             = var.protected
  auto_minor_version_upgrade      = false
  maintenance_window              = "tue:08:00-tue:08:30"
  copy_tags_to_snapshot           = true
  apply_immediately               = true
  performance_insights_enabled    = true
  enabled_cloudwatch_logs_exports = ["postgresql"]

  # Without this the root module makes no plan that destroys it (main.tf): AWS would refuse when half is gone.
  tags = { Protected = tostring(var.protected) }
}
