# One dashboard and the alarms, on AWS's metrics and on the counts that every machine publishes from
# `scan list` (all publish the same numbers, so the maximum is the number). A fleet that gets nowhere is
# stopped: machines cost money, and Postgres keeps what was done.

locals {
  counts = { for name in ["Outstanding", "Discarded", "MinutesSinceProgress", "ScanHours"] :
    name => [local.namespace, name, "Fleet", local.fleet_name]
  }
  widgets = [
    { title = "Jobs", metrics = [local.counts.Outstanding, local.counts.Discarded], stat = "Maximum" },
    { title = "Minutes since progress", metrics = [local.counts.MinutesSinceProgress], stat = "Maximum" },
    { title = "Workers", metrics = [["AWS/AutoScaling", "GroupInServiceInstances", "AutoScalingGroupName", local.fleet_name], [".", "GroupDesiredCapacity", ".", "."]], stat = "Average" },
    { title = "Workers' processors", metrics = [["AWS/EC2", "CPUUtilization", "AutoScalingGroupName", local.fleet_name]], stat = "Average" },
    { title = "Workers' network, bytes", metrics = [["AWS/EC2", "NetworkIn", "AutoScalingGroupName", local.fleet_name], [".", "NetworkOut", ".", "."]], stat = "Sum" },
    { title = "Postgres: processor, credits", metrics = [["AWS/RDS", "CPUUtilization", "DBInstanceIdentifier", var.name], [".", "CPUCreditBalance", ".", "."]], stat = "Average" },
    { title = "Postgres: connections", metrics = [["AWS/RDS", "DatabaseConnections", "DBInstanceIdentifier", var.name]], stat = "Maximum" },
    { title = "Packets dropped by the network card's allowances", metrics = [[local.namespace, "ConntrackAllowanceExceeded", "Fleet", local.fleet_name], [".", "PpsAllowanceExceeded", ".", "."], [".", "LinklocalAllowanceExceeded", ".", "."]], stat = "Sum" },
    { title = "Postgres: free storage, bytes", metrics = [["AWS/RDS", "FreeStorageSpace", "DBInstanceIdentifier", var.name]], stat = "Minimum" },
  ]
}

resource "aws_cloudwatch_dashboard" "scan" {
  dashboard_name = "${var.name}-scan"

  dashboard_body = jsonencode({
    widgets = [for index, widget in local.widgets : {
      type   = "metric"
      x      = index % 2 * 12
      y      = floor(index / 2) * 6
      width  = 12
      height = 6
      properties = {
        title   = widget.title
        metrics = widget.metrics
        stat    = widget.stat
        region  = var.region
        period  = 300
        view    = "timeSeries"
      }
    }]
  })
}

locals {
  alarms = {
    discarded-jobs = {
      description = "Jobs of the scan were discarded: `everytab-worker scan status` says which, `scan retry` does them again."
      metric      = "Discarded"
      threshold   = 0
      minutes     = 5
      periods     = 1
    }
    stalled-scan = {
      description = "No job has ended for half an hour: docs/operations.md, \"When a scan stalls\"."
      metric      = "MinutesSinceProgress"
      threshold   = 30
      minutes     = 5
      periods     = 2
    }
    long-scan = {
      description = "The scan runs for longer than scan_hours_limit, and its machines cost money."
      metric      = "ScanHours"
      threshold   = var.scan_hours_limit
      minutes     = 60
      periods     = 1
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "scan" {
  for_each = local.alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = local.namespace
  metric_name         = each.value.metric
  dimensions          = { Fleet = local.fleet_name }
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.threshold
  period              = each.value.minutes * 60
  evaluation_periods  = each.value.periods
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alerts_topic_arn]
  ok_actions          = [var.alerts_topic_arn]
}

# Postgres, the only coordinator.
locals {
  database_alarms = merge(
    {
      database-storage = {
        description = "Postgres has less than 10 GB of free storage; it grows by itself, but at most once in six hours."
        metric      = "FreeStorageSpace"
        comparison  = "LessThanThreshold"
        statistic   = "Minimum"
        threshold   = 10 * 1024 * 1024 * 1024
      }
      database-connections = {
        description = "Postgres has more connections than 180 workers make; at 1,200 it refuses more."
        metric      = "DatabaseConnections"
        comparison  = "GreaterThanThreshold"
        statistic   = "Maximum"
        threshold   = 1000
      }
    },
    # Only classes that can burst have credits.
    startswith(var.database_instance_class, "db.t") ? {
      database-credits = {
        description = "Postgres has nearly spent its processor credits: from then on each hour beyond its share costs extra."
        metric      = "CPUCreditBalance"
        comparison  = "LessThanThreshold"
        statistic   = "Minimum"
        threshold   = 30
      }
    } : {},
  )
}

resource "aws_cloudwatch_metric_alarm" "database" {
  for_each = local.database_alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/RDS"
  metric_name         = each.value.metric
  dimensions          = { DBInstanceIdentifier = aws_db_instance.scan.identifier }
  statistic           = each.value.statistic
  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  period              = 300
  evaluation_periods  = 2
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alerts_topic_arn]
  ok_actions          = [var.alerts_topic_arn]
}

# What the network card drops without telling the programs.
resource "aws_cloudwatch_metric_alarm" "allowance" {
  for_each = { connections = "ConntrackAllowanceExceeded", packets = "PpsAllowanceExceeded", link-local = "LinklocalAllowanceExceeded" }

  alarm_name          = "${var.name}-dropped-${each.key}"
  alarm_description   = "The network dropped packets of a worker (${each.value}): fewer requests in flight, or larger instances."
  namespace           = local.namespace
  metric_name         = each.value
  dimensions          = { Fleet = local.fleet_name }
  statistic           = "Sum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 1000
  period              = 300
  evaluation_periods  = 3
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alerts_topic_arn]
  ok_actions          = [var.alerts_topic_arn]
}

# Sets the fleet's size to nothing. Applying again with a worker_count starts it again.
resource "aws_autoscaling_policy" "stop" {
  name                   = "${var.name}-stop"
  autoscaling_group_name = aws_autoscaling_group.workers.name
  policy_type            = "SimpleScaling"
  adjustment_type        = "ExactCapacity"
  scaling_adjustment     = 0
  cooldown               = 0
}

resource "aws_cloudwatch_metric_alarm" "stop" {
  alarm_name          = "${var.name}-stopped-without-progress"
  alarm_description   = "No job has ended for stop_after_hours: the fleet was stopped. Apply again when the reason is gone."
  namespace           = local.namespace
  metric_name         = "MinutesSinceProgress"
  dimensions          = { Fleet = local.fleet_name }
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.stop_after_hours * 60
  period              = 300
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alerts_topic_arn, aws_autoscaling_policy.stop.arn]
}

# Machines that cost money although nobody publishes counts: the scan did not start, or all hang. After
# half an hour a mail, after stop_after_hours the end of the fleet.
locals {
  idle_alarms = {
    idle-fleet   = { minutes = 30, actions = [var.alerts_topic_arn], description = "Machines are up, and none has published a count for half an hour: they cost money for nothing." }
    stopped-idle = { minutes = var.stop_after_hours * 60, actions = [var.alerts_topic_arn, aws_autoscaling_policy.stop.arn], description = "Machines were up for stop_after_hours, and none has published a count: the fleet was stopped." }
  }
}

resource "aws_cloudwatch_metric_alarm" "idle_fleet" {
  for_each = local.idle_alarms

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = each.value.minutes / 5
  treat_missing_data  = "notBreaching"
  alarm_actions       = each.value.actions

  metric_query {
    id          = "idle"
    label       = "Machines while nothing is counted"
    expression  = "IF(FILL(counts, 0) > 0, 0, machines)"
    return_data = true
  }

  metric_query {
    id = "machines"

    metric {
      namespace   = "AWS/AutoScaling"
      metric_name = "GroupInServiceInstances"
      dimensions  = { AutoScalingGroupName = local.fleet_name }
      stat        = "Minimum"
      period      = 300
    }
  }

  metric_query {
    id = "counts"

    metric {
      namespace   = local.namespace
      metric_name = "Outstanding"
      dimensions  = { Fleet = local.fleet_name }
      stat        = "SampleCount"
      period      = 300
    }
  }
}
