# One dashboard and the alarms, on AWS's metrics, on the console's counts (publish-crawl-counts, every minute) and on
# what the HTTP service says of itself (publish-ready).

locals {
  counts = { for name in ["DueHosts", "DueHostsPerWorker", "LiveWorkers", "RunningCrawls", "UnheldSlots", "ApiReady"] :
    name => [local.namespace, name, "Fleet", local.fleet_name]
  }
  widgets = [
    { title = "Hosts that are due", metrics = [local.counts.DueHosts], stat = "Maximum" },
    { title = "Due hosts a crawler", metrics = [local.counts.DueHostsPerWorker], stat = "Maximum" },
    { title = "Crawlers", metrics = [["AWS/AutoScaling", "GroupInServiceInstances", "AutoScalingGroupName", local.fleet_name], [".", "GroupDesiredCapacity", ".", "."], local.counts.LiveWorkers], stat = "Average" },
    { title = "Crawls, slots without a holder", metrics = [local.counts.RunningCrawls, local.counts.UnheldSlots], stat = "Maximum" },
    { title = "The HTTP service is ready", metrics = [local.counts.ApiReady], stat = "Minimum" },
    { title = "Crawlers' processors", metrics = [["AWS/EC2", "CPUUtilization", "AutoScalingGroupName", local.fleet_name]], stat = "Average" },
    { title = "Crawlers' network, bytes", metrics = [["AWS/EC2", "NetworkIn", "AutoScalingGroupName", local.fleet_name], [".", "NetworkOut", ".", "."]], stat = "Sum" },
    { title = "Postgres: processor, credits", metrics = [["AWS/RDS", "CPUUtilization", "DBInstanceIdentifier", local.service], [".", "CPUCreditBalance", ".", "."]], stat = "Average" },
    { title = "Postgres: free storage, bytes", metrics = [["AWS/RDS", "FreeStorageSpace", "DBInstanceIdentifier", local.service]], stat = "Minimum" },
    { title = "Packets dropped by the network card's allowances", metrics = [[local.namespace, "ConntrackAllowanceExceeded", "Fleet", local.fleet_name], [".", "PpsAllowanceExceeded", ".", "."], [".", "LinklocalAllowanceExceeded", ".", "."]], stat = "Sum" },
  ]
}

resource "aws_cloudwatch_dashboard" "crawls" {
  dashboard_name = local.service

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
  # What of the service's own counts is wrong. Without counts the service is blind, and its group keeps its size.
  alarms = merge(
    {
      due-hosts-high = {
        description = "Each crawler has had three times its share of due hosts for half an hour: the group is at crawl_workers_max, or no spot capacity is to be had."
        metric      = "DueHostsPerWorker"
        comparison  = "GreaterThanThreshold"
        statistic   = "Minimum"
        threshold   = 3 * var.hosts_per_worker
        periods     = 6
        missing     = "notBreaching"
      }
      no-live-workers = {
        description = "No crawler has been seen for ten minutes, or nothing counts them: docs/operations.md, \"A crawl service\"."
        metric      = "LiveWorkers"
        comparison  = "LessThanThreshold"
        statistic   = "Maximum"
        threshold   = 1
        periods     = 2
        missing     = "breaching"
      }
      unheld-slots = {
        description = "Crawls are open, and some slots have had no crawler for a quarter of an hour: their sites wait."
        metric      = "UnheldSlots"
        comparison  = "GreaterThanThreshold"
        statistic   = "Minimum"
        threshold   = 0
        periods     = 3
        missing     = "notBreaching"
      }
    },
    var.api_machines == 0 ? {} : {
      api-down = {
        description = "A machine of the HTTP service could not serve for ten minutes, or none of them says so."
        metric      = "ApiReady"
        comparison  = "LessThanThreshold"
        statistic   = "Minimum"
        threshold   = 1
        periods     = 2
        missing     = "breaching"
      }
    },
  )
}

resource "aws_cloudwatch_metric_alarm" "crawls" {
  for_each = local.alarms

  alarm_name          = "${local.service}-${each.key}"
  alarm_description   = each.value.description
  namespace           = local.namespace
  metric_name         = each.value.metric
  dimensions          = { Fleet = local.fleet_name }
  statistic           = each.value.statistic
  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  period              = 300
  evaluation_periods  = each.value.periods
  treat_missing_data  = each.value.missing
  alarm_actions       = [var.alerts_topic_arn]
  ok_actions          = [var.alerts_topic_arn]
}

locals {
  database_alarms = merge(
    {
      database-cpu = {
        description = "Postgres has been busy for half an hour: a larger database_instance_class, or fewer crawlers."
        metric      = "CPUUtilization"
        comparison  = "GreaterThanThreshold"
        statistic   = "Average"
        threshold   = 80
        periods     = 6
      }
      database-storage = {
        description = "Postgres has less than 10 GB of free storage; it grows by itself, but at most once in six hours."
        metric      = "FreeStorageSpace"
        comparison  = "LessThanThreshold"
        statistic   = "Minimum"
        threshold   = 10 * 1024 * 1024 * 1024
        periods     = 2
      }
      database-connections = {
        description = "Postgres has more connections than 100 crawlers make; at 700 it refuses more."
        metric      = "DatabaseConnections"
        comparison  = "GreaterThanThreshold"
        statistic   = "Maximum"
        threshold   = 600
        periods     = 2
      }
    },
    # Only classes that can burst have credits.
    startswith(var.database_instance_class, "db.t") ? {
      # A new one has no credits at all, and what it spends in advance it earns again within hours. With
      # both cores busy this number is reached after an hour and a half.
      database-credits = {
        description = "Postgres has spent processor credits far in advance: each hour beyond its share costs extra."
        metric      = "CPUSurplusCreditBalance"
        comparison  = "GreaterThanThreshold"
        statistic   = "Maximum"
        threshold   = 120
        periods     = 2
      }
    } : {},
  )
}

resource "aws_cloudwatch_metric_alarm" "database" {
  for_each = local.database_alarms

  alarm_name          = "${local.service}-${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/RDS"
  metric_name         = each.value.metric
  dimensions          = { DBInstanceIdentifier = aws_db_instance.crawls.identifier }
  statistic           = each.value.statistic
  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  period              = 300
  evaluation_periods  = each.value.periods
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alerts_topic_arn]
  ok_actions          = [var.alerts_topic_arn]
}

# What the network card drops without telling the programs.
resource "aws_cloudwatch_metric_alarm" "allowance" {
  for_each = { connections = "ConntrackAllowanceExceeded", packets = "PpsAllowanceExceeded", link-local = "LinklocalAllowanceExceeded" }

  alarm_name          = "${local.service}-dropped-${each.key}"
  alarm_description   = "The network dropped packets of a crawler (${each.value}): fewer requests in flight, or larger instances."
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
