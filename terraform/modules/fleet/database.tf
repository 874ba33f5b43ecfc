# Postgres, the only coordinator.

resource "aws_db_subnet_group" "this" {
  name       = var.service
  subnet_ids = aws_subnet.public[*].id
}

locals {
  parameters = {
    # TLS only.
    "rds.force_ssl"   = { value = "1", apply_method = "immediate" }
    "max_connections" = { value = tostring(var.database.max_connections), apply_method = "pending-reboot" }
    # For bulk appends: rare, long checkpoints, and compressed full-page images.
    "max_wal_size"                 = { value = "8192", apply_method = "immediate" }
    "checkpoint_timeout"           = { value = "900", apply_method = "immediate" }
    "checkpoint_completion_target" = { value = "0.9", apply_method = "immediate" }
    "wal_compression"              = { value = "lz4", apply_method = "immediate" }
    # Jobs, slots, buckets and hosts are small tables with many updates, so vacuum must run
    # often and fast.
    "autovacuum_naptime"           = { value = "15", apply_method = "immediate" }
    "autovacuum_vacuum_cost_limit" = { value = "2000", apply_method = "immediate" }
    # gp3 reads random pages almost as fast as sequential ones.
    "random_page_cost" = { value = "1.1", apply_method = "immediate" }
    # Releases the locks of a process that died in a transaction. Our transactions are never
    # idle for so long.
    "idle_in_transaction_session_timeout" = { value = "60000", apply_method = "immediate" }
    # The instances' connection tracking forgets a silent connection after 120 s (workers.tf),
    # so both ends must send packets before that, even while one statement runs for minutes.
    "tcp_keepalives_idle"     = { value = "30", apply_method = "immediate" }
    "tcp_keepalives_interval" = { value = "10", apply_method = "immediate" }
    "tcp_keepalives_count"    = { value = "6", apply_method = "immediate" }
    # Log only useful messages.
    "log_min_duration_statement" = { value = "1000", apply_method = "immediate" }
    "log_lock_waits"             = { value = "1", apply_method = "immediate" }
    # The statements are too short for just-in-time compilation.
    "jit" = { value = "0", apply_method = "immediate" }
  }
}

resource "aws_db_parameter_group" "this" {
  name        = "${var.service}-postgres${var.database.version}"
  family      = "postgres${var.database.version}"
  description = var.database.parameters_description

  dynamic "parameter" {
    for_each = local.parameters

    content {
      name         = parameter.key
      value        = parameter.value.value
      apply_method = parameter.value.apply_method
    }
  }
}

resource "aws_db_instance" "this" {
  #checkov:skip=CKV_AWS_157:a second machine doubles the cost; a scan can be run again, and a crawl service sets database_multi_az
  #checkov:skip=CKV_AWS_293:the end of a scan must be able to remove it, and names the scan (main.tf of the root); a crawl service protects it
  #checkov:skip=CKV_AWS_226:a restart for a minor version is at the operator's hour, with the next scan or image
  #checkov:skip=CKV_AWS_133:a scan's is emptied with the scan, and `everytab-worker backup` is its backup; a crawl service keeps two weeks
  #checkov:skip=CKV_AWS_118:metrics by the second are for finding what a minute's do not show, and cost more than the rest of the watching
  #checkov:skip=CKV_AWS_354:AWS's own key serves as well for query texts without a secret
  #checkov:skip=CKV2_AWS_30:statements over a second are logged; all of them would be the whole scan or crawl
  #checkov:skip=CKV2_AWS_69:rds.force_ssl is set by a dynamic block, which this check does not read; a test does
  identifier     = var.service
  engine         = "postgres"
  engine_version = var.database.version
  instance_class = var.database.instance_class
  db_name        = "everytab"
  port           = 5432
  multi_az       = var.database.multi_az

  # AWS creates, stores and rotates the owner's password. The processes' roles have none,
  # because they sign in with tokens.
  username                            = "everytab_owner"
  manage_master_user_password         = true
  iam_database_authentication_enabled = true

  # Below 400 GB gp3 has fixed iops and throughput, which must not be set.
  storage_type          = "gp3"
  allocated_storage     = var.database.storage_gb
  max_allocated_storage = var.database.storage_limit_gb
  storage_encrypted     = true

  db_subnet_group_name   = aws_db_subnet_group.this.name
  vpc_security_group_ids = [aws_security_group.database.id]
  publicly_accessible    = false
  ca_cert_identifier     = "rds-ca-rsa2048-g1"
  parameter_group_name   = aws_db_parameter_group.this.name

  backup_retention_period  = var.database.backup_days
  backup_window            = var.database.backup_window
  delete_automated_backups = var.database.backups_go_with_it
  skip_final_snapshot      = true
  deletion_protection      = var.database.protected
  # The operator chooses when to install another minor version. Maintenance that AWS enforces
  # happens at this time.
  auto_minor_version_upgrade      = false
  maintenance_window              = "tue:08:00-tue:08:30"
  copy_tags_to_snapshot           = true
  apply_immediately               = true
  performance_insights_enabled    = true
  enabled_cloudwatch_logs_exports = ["postgresql"]

  # The root module reads these tags before it makes a plan that destroys the database
  # (main.tf).
  tags = var.database.tags
}
