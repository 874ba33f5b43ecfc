# Postgres, the only coordinator. It exists only during a scan, so it needs no redundancy.

resource "aws_db_subnet_group" "scan" {
  name       = var.name
  subnet_ids = aws_subnet.public[*].id
}

locals {
  parameters = {
    # TLS only.
    "rds.force_ssl" = { value = "1", apply_method = "immediate" }
    # A worker has up to 5 connections, 200 workers have 1,000; RDS's default for 8 GB is 830.
    "max_connections" = { value = "1200", apply_method = "pending-reboot" }
    # For bulk appends: rare, long checkpoints, and compressed full-page images.
    "max_wal_size"                 = { value = "8192", apply_method = "immediate" }
    "checkpoint_timeout"           = { value = "900", apply_method = "immediate" }
    "checkpoint_completion_target" = { value = "0.9", apply_method = "immediate" }
    "wal_compression"              = { value = "lz4", apply_method = "immediate" }
    # The jobs table is small and updated often: vacuum runs often and fast.
    "autovacuum_naptime"           = { value = "15", apply_method = "immediate" }
    "autovacuum_vacuum_cost_limit" = { value = "2000", apply_method = "immediate" }
    # gp3 reads random pages almost as fast as sequential ones.
    "random_page_cost" = { value = "1.1", apply_method = "immediate" }
    # Releases the locks of a worker that died in a transaction; no transaction of ours idles so long.
    "idle_in_transaction_session_timeout" = { value = "60000", apply_method = "immediate" }
    # The machines' connection tracking forgets a silent connection after 120 s (fleet.tf): both ends
    # must be heard before that, also while one statement runs for minutes.
    "tcp_keepalives_idle"     = { value = "30", apply_method = "immediate" }
    "tcp_keepalives_interval" = { value = "10", apply_method = "immediate" }
    "tcp_keepalives_count"    = { value = "6", apply_method = "immediate" }
    # Messages worth reading.
    "log_min_duration_statement" = { value = "1000", apply_method = "immediate" }
    "log_lock_waits"             = { value = "1", apply_method = "immediate" }
    # The queue's statements are too short for just-in-time compilation.
    "jit" = { value = "0", apply_method = "immediate" }
  }
}

resource "aws_db_parameter_group" "scan" {
  name        = "${var.name}-postgres${var.database_version}"
  family      = "postgres${var.database_version}"
  description = "Few large appends, one small hot table"

  dynamic "parameter" {
    for_each = local.parameters

    content {
      name         = parameter.key
      value        = parameter.value.value
      apply_method = parameter.value.apply_method
    }
  }
}

resource "aws_db_instance" "scan" {
  #checkov:skip=CKV_AWS_157:a second machine would double the cost of a database that lives for days; the scan can be run again
  #checkov:skip=CKV_AWS_293:the end of a scan must be able to remove it, and asks for the scan's name before (main.tf of the root)
  #checkov:skip=CKV_AWS_226:a restart for a minor version in the middle of a scan costs more than a version that is days old
  #checkov:skip=CKV_AWS_133:it is emptied with the scan; `everytab-worker backup` is the backup
  #checkov:skip=CKV_AWS_118:metrics by the second are for finding what a minute's do not show, and cost more than the rest of the watching
  #checkov:skip=CKV_AWS_354:AWS's own key serves as well for query texts without a secret
  #checkov:skip=CKV2_AWS_30:statements over a second are logged; all of them would be the whole scan
  #checkov:skip=CKV2_AWS_69:rds.force_ssl is set by a dynamic block, which this check does not read; a test does
  identifier     = var.name
  engine         = "postgres"
  engine_version = var.database_version
  instance_class = var.database_instance_class
  db_name        = "everytab"
  port           = 5432

  # AWS makes, stores and rotates the owner's password; the worker's role has no password: it signs in
  # with a token of its instance.
  username                            = "everytab_owner"
  manage_master_user_password         = true
  iam_database_authentication_enabled = true

  # Below 400 GB gp3 has fixed iops and throughput, which must not be set.
  storage_type          = "gp3"
  allocated_storage     = var.database_storage_gb
  max_allocated_storage = var.database_storage_limit_gb
  storage_encrypted     = true

  db_subnet_group_name   = aws_db_subnet_group.scan.name
  vpc_security_group_ids = [aws_security_group.database.id]
  publicly_accessible    = false
  ca_cert_identifier     = "rds-ca-rsa2048-g1"
  parameter_group_name   = aws_db_parameter_group.scan.name

  backup_retention_period  = 0
  skip_final_snapshot      = true
  delete_automated_backups = true
  deletion_protection      = false
  # Another minor version is for the next scan. What AWS must do all the same, it does at this hour.
  auto_minor_version_upgrade      = false
  maintenance_window              = "tue:08:00-tue:08:30"
  copy_tags_to_snapshot           = true
  apply_immediately               = true
  performance_insights_enabled    = true
  enabled_cloudwatch_logs_exports = ["postgresql"]

  # Names the scan: the root module refuses to remove it, or to change its crawl, without this name.
  tags = { Scan = var.crawl }
}
