# The budget, and the topic for alarms. The topic outlives scans, so that an address confirms it only once.

resource "aws_sns_topic" "alerts" {
  #checkov:skip=CKV_AWS_26:the mails name alarms, no secret; CloudWatch cannot publish under AWS's own key, and a key of our own costs as much as the site
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

  dynamic "notification" {
    for_each = length(var.alert_emails) > 0 ? [50, 80, 100] : []

    content {
      comparison_operator        = "GREATER_THAN"
      threshold                  = notification.value
      threshold_type             = "PERCENTAGE"
      notification_type          = "ACTUAL"
      subscriber_email_addresses = var.alert_emails
    }
  }
}
