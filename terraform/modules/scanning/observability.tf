# One dashboard and four alarms, on AWS's metrics and on the counts that every machine publishes from
# `scan list` (all publish the same numbers, so the maximum is the number).

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

# Machines that cost money although no worker publishes counts: the scan did not start, or all workers hang.
resource "aws_cloudwatch_metric_alarm" "idle_fleet" {
  alarm_name          = "${var.name}-idle-fleet"
  alarm_description   = "Machines are up, and none has published a count for half an hour: they cost money for nothing."
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 6
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alerts_topic_arn]
  ok_actions          = [var.alerts_topic_arn]

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
