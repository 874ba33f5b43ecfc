# Postgres, the only coordinator.

resource "aws_db_subnet_group" "this" {
  name       = var.service
  subnet_ids = aws_subnet.public[*].id
}

locals {
  parameters = {
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
    "tcp_keepalives_idle"        = { value = "30", apply_method = "immediate" }
    "tcp_keepalives_interval"    = { value = "10", apply_method = "immediate" }
    "tcp_keepalives_count"       = { value = "6", apply_method = "immediate" }
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
  #checkov:skip=CKV_AWS_157:a standby doubles the cost, so a scan has none, and a crawl service sets database_multi_az
  #checkov:skip=CKV_AWS_293:a scan's database is destroyed at its end, and a crawl service protects its database
  #checkov:skip=CKV_AWS_226:the operator chooses when to restart Postgres for a minor version
  #checkov:skip=CKV_AWS_133:`everytab-worker backup` backs up a scan, and a crawl service keeps backups for two weeks
  #checkov:skip=CKV_AWS_118:metrics per second would cost more than all other monitoring
  #checkov:skip=CKV_AWS_354:AWS's own key suffices for query texts, which contain no secrets
  #checkov:skip=CKV2_AWS_30:only statements that take more than a second are logged, because there are too many others
  #checkov:skip=CKV2_AWS_69:a dynamic block sets rds.force_ssl, which a test checks, but this check does not read it
  identifier     = var.service
  engine         = "postgres"
  engine_version = var.database.version
  instance_class = var.database.instance_class
  db_name        = "everytab"
  port           = 5432
  multi_az       = var.database.multi_az

  # AWS creates, stores and rotates the owner's password. The processes' roles sign in with
  # tokens.
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
