# A dashboard and alarms on AWS's metrics and on the counts that the console publishes each
# minute (packaging/lib/publish-counts). The rules are those in telemetry/alerts.yml. A fleet
# without progress is stopped, because instances cost money, and Postgres keeps the results.

locals {
  counts = { for name in ["Outstanding", "Discarded", "MinutesSinceProgress", "UnreachedPercent"] :
    name => [local.namespace, name, "Fleet", local.fleet_name]
  }
  widgets = [
    { title = "Jobs", metrics = [local.counts.Outstanding, local.counts.Discarded], stat = "Maximum" },
    { title = "Minutes since progress", metrics = [local.counts.MinutesSinceProgress], stat = "Maximum" },
    { title = "Icons whose host was not reached, percent", metrics = [local.counts.UnreachedPercent], stat = "Maximum" },
    { title = "Workers", metrics = [["AWS/AutoScaling", "GroupInServiceInstances", "AutoScalingGroupName", local.fleet_name], [".", "GroupDesiredCapacity", ".", "."]], stat = "Average" },
    { title = "Workers' processors", metrics = [["AWS/EC2", "CPUUtilization", "AutoScalingGroupName", local.fleet_name]], stat = "Average" },
    { title = "Workers' network, bytes", metrics = [["AWS/EC2", "NetworkIn", "AutoScalingGroupName", local.fleet_name], [".", "NetworkOut", ".", "."]], stat = "Sum" },
    { title = "Postgres: processor, credits", metrics = [["AWS/RDS", "CPUUtilization", "DBInstanceIdentifier", var.name], [".", "CPUCreditBalance", ".", "."], [".", "CPUSurplusCreditBalance", ".", "."]], stat = "Average" },
    { title = "Postgres: connections", metrics = [["AWS/RDS", "DatabaseConnections", "DBInstanceIdentifier", var.name]], stat = "Maximum" },
    { title = "Packets dropped by the network card's allowances", metrics = [[local.namespace, "ConntrackAllowanceExceeded", "Fleet", local.fleet_name], [".", "PpsAllowanceExceeded", ".", "."], [".", "LinklocalAllowanceExceeded", ".", "."]], stat = "Sum" },
    { title = "Postgres: free storage, bytes", metrics = [["AWS/RDS", "FreeStorageSpace", "DBInstanceIdentifier", var.name]], stat = "Minimum" },
  ]
}

# Prometheus's rules with a CloudWatch metric; telemetry/alerts.yml explains them. No alarm has
# ok_actions, because each alarm would send an OK mail when it is created.
locals {
  rules = flatten(yamldecode(file("${path.module}/../../../telemetry/alerts.yml")).groups[*].rules)
  alarms = { for rule in local.rules : rule.alert => merge(
    regex("^(?P<namespace>[^ ]+) (?P<metric>[A-Za-z]+) (?P<test>>|<|absent) ?(?P<threshold>[0-9]*) for (?P<minutes>[0-9]+) minutes?$", rule.annotations.cloudwatch),
    { description = "${rule.annotations.summary}: ${rule.annotations.action}" },
  ) if can(rule.annotations.cloudwatch) }
  dimensions = {
    (local.namespace) = { Fleet = local.fleet_name }
    "AWS/RDS"         = { DBInstanceIdentifier = module.fleet.database.identifier }
  }
}

resource "aws_cloudwatch_metric_alarm" "rule" {
  for_each = { for name, alarm in local.alarms : name => alarm if alarm.test != "absent" }

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = local.dimensions[each.value.namespace]
  statistic           = each.value.test == "<" ? "Minimum" : "Maximum"
  comparison_operator = each.value.test == "<" ? "LessThanThreshold" : "GreaterThanThreshold"
  threshold           = tonumber(each.value.threshold)
  period              = 60
  evaluation_periods  = tonumber(each.value.minutes)
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alerts_topic_arn]
}

# Sets the fleet's size to 0. While an alarm is in ALARM, it repeats a policy's action each
# minute. Therefore both alarms end when no instance is left, and their minutes start again with
# the next instances. To start the fleet again, apply with a worker_count.
resource "aws_autoscaling_policy" "stop" {
  name                   = "${var.name}-stop"
  autoscaling_group_name = module.fleet.group_name
  policy_type            = "SimpleScaling"
  adjustment_type        = "ExactCapacity"
  scaling_adjustment     = 0
  cooldown               = 0
}

resource "aws_cloudwatch_metric_alarm" "stop" {
  alarm_name          = "${var.name}-stopped-without-progress"
  alarm_description   = "Workers held leases for stop_after_hours, but no job has ended, so the fleet was stopped. Apply again when the cause is removed."
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

# Alarms for instances that cost money while a count is missing or 0. Without Watching, no alarm
# would report that the scan has stopped. Without Workers, the instances have nothing to do.
# After half an hour this sends a mail, and after stop_after_hours it stops the fleet.
locals {
  idle_alarms = merge(
    { for name, alarm in local.alarms : name => { metric = alarm.metric, minutes = tonumber(alarm.minutes), actions = [var.alerts_topic_arn], description = alarm.description } if alarm.test == "absent" },
    {
      idle-fleet   = { metric = "Workers", minutes = 30, actions = [var.alerts_topic_arn], description = "Machines have been running for half an hour without work, and cost money for nothing." }
      stopped-idle = { metric = "Workers", minutes = var.stop_after_hours * 60, actions = [var.alerts_topic_arn, aws_autoscaling_policy.stop.arn], description = "Machines were running for stop_after_hours without work, so the fleet was stopped." }
    },
  )
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
      metric_name = each.value.metric
      dimensions  = { Fleet = local.fleet_name }
      stat        = "Maximum"
      period      = 300
    }
  }
}
