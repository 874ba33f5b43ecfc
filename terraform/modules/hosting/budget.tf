# The budget, and the topic for alarms. The topic outlives scans, so that an address must
# confirm it only once.

resource "aws_sns_topic" "alerts" {
  #checkov:skip=CKV_AWS_26:CloudWatch cannot publish under AWS's own key, and a key of ours would cost as much as the site
  name = "${var.name}-alerts"
}

resource "aws_sns_topic_subscription" "mail" {
  for_each = toset(var.alert_emails)

  topic_arn = aws_sns_topic.alerts.arn
  protocol  = "email"
  endpoint  = each.value
}

resource "aws_budgets_budget" "month" {
  name         = "${var.name}-month"
  budget_type  = "COST"
  limit_amount = tostring(var.monthly_budget_usd)
  limit_unit   = "USD"
  time_unit    = "MONTHLY"

  # By default this includes the whole account, because other things that run by mistake cost
  # money, too.
  dynamic "cost_filter" {
    for_each = var.budget_by_tag ? [format("user:Project$%s", var.name)] : []

    content {
      name   = "TagKeyValue"
      values = [cost_filter.value]
    }
  }

  # The bill is hours late, so the forecast warns before the money is spent.
  dynamic "notification" {
    for_each = { "50" = "ACTUAL", "80" = "ACTUAL", "99" = "FORECASTED", "100" = "ACTUAL" }

    content {
      comparison_operator        = "GREATER_THAN"
      threshold                  = tonumber(notification.key)
      threshold_type             = "PERCENTAGE"
      notification_type          = notification.value
      subscriber_email_addresses = var.alert_emails
    }
  }
}
