
resource "aws_cloudwatch_dashboard" "this" {
  dashboard_name = var.dashboard.name

  dashboard_body = jsonencode({
    widgets = [for index, widget in var.dashboard.widgets : {
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
  dimensions = {
    (var.namespace) = { Fleet = var.workers.name }
    "AWS/RDS"       = { DBInstanceIdentifier = aws_db_instance.this.identifier }
  }
  alarms = merge(
    var.alarms,
    # Only classes that can burst have credits.
    startswith(var.database.instance_class, "db.t") ? {
      # A new instance spends credits in advance, and earns these again within hours. If both
      # cores are busy, this threshold is reached after an hour and a half.
      database-credits = {
        description = "Postgres has spent many CPU credits in advance, and each further hour above its baseline costs extra."
        namespace   = "AWS/RDS"
        metric      = "CPUSurplusCreditBalance"
        comparison  = "GreaterThanThreshold"
        statistic   = "Maximum"
        threshold   = 120
        periods     = 2
        missing     = "notBreaching"
      }
    } : {},
    # Packets that the network card drops without an error for the programs.
    { for name, metric in { connections = "ConntrackAllowanceExceeded", packets = "PpsAllowanceExceeded", link-local = "LinklocalAllowanceExceeded" } : "dropped-${name}" => {
      description                       = "The network dropped packets of a ${var.workers.one} (${metric}). Set fewer requests in flight, or larger instances."
      namespace                         = var.namespace
      metric                            = metric
      comparison                        = "GreaterThanThreshold"
      statistic                         = "Sum"
      threshold                         = 1000
      periods                           = 3
      missing                           = "notBreaching"
    } },
  )
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = local.alarms

  alarm_name          = "${var.service}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = local.dimensions[each.value.namespace]
  statistic           = each.value.statistic
  comparison_operator = each.value.comparison
  threshold           = each.value.threshold
  period              = 300
  evaluation_periods  = each.value.periods
  treat_missing_data  = each.value.missing
  alarm_actions       = [var.alerts_topic_arn]
  ok_actions          = var.mails_when_well ? [var.alerts_topic_arn] : null
}
