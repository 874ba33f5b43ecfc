# CloudFront's standard logging v2 needs no ACLs and is free of charge.

module "logs" {
  source = "../bucket"

  bucket                = "${var.name}-logs-${local.account_id}"
  keeps_versions        = false
  goes_with_its_objects = true
  expire                = { all = { prefix = "", days = var.log_retention_days } }

  statements = [{
    Sid       = "LogDeliveryWrites"
    Effect    = "Allow"
    Principal = { Service = "delivery.logs.amazonaws.com" }
    Action    = "s3:PutObject"
    Resource  = "arn:aws:s3:::${var.name}-logs-${local.account_id}/*"
    Condition = {
      StringEquals = { "aws:SourceAccount" = local.account_id }
      ArnLike      = { "aws:SourceArn" = "arn:aws:logs:us-east-1:${local.account_id}:delivery-source:*" }
    }
  }]
}

resource "aws_cloudwatch_log_delivery_source" "site" {
  name         = "${var.name}-site"
  log_type     = "ACCESS_LOGS"
  resource_arn = aws_cloudfront_distribution.site.arn
}

resource "aws_cloudwatch_log_delivery_destination" "site" {
  name          = "${var.name}-site"
  output_format = "w3c"

  delivery_destination_configuration {
    destination_resource_arn = module.logs.arn
  }
}

# Provider 6.25.0 drops the prefix AWSLogs/ACCOUNT/CloudFront when it changes suffix_path in
# place (terraform-provider-aws issue 46328), so another path recreates the delivery.
resource "terraform_data" "log_path" {
  input = "/{yyyy}/{MM}/{dd}"
}

resource "aws_cloudwatch_log_delivery" "site" {
  delivery_source_name     = aws_cloudwatch_log_delivery_source.site.name
  delivery_destination_arn = aws_cloudwatch_log_delivery_destination.site.arn

  s3_delivery_configuration {
    suffix_path = terraform_data.log_path.output
  }

  lifecycle {
    replace_triggered_by = [terraform_data.log_path]
  }
}

# RDS creates this group again for its last lines, even if the group was deleted before. If the
# group were destroyed with the database, it would therefore conflict with the next one.
resource "aws_cloudwatch_log_group" "database" {
  #checkov:skip=CKV_AWS_158:the log contains slow statements but no secrets
  #checkov:skip=CKV_AWS_338:old lines are not needed, because the log is for current faults
  for_each = toset([var.name, "${var.name}-crawls"])

  name              = "/aws/rds/instance/${each.value}/postgresql"
  retention_in_days = 14
}

# The machines are gone when an operator needs their journals.
resource "aws_cloudwatch_log_group" "machines" {
  #checkov:skip=CKV_AWS_158:the log contains hosts and outcomes but no secrets
  #checkov:skip=CKV_AWS_338:complaints about requests come within days
  name              = "/${var.name}/machines"
  retention_in_days = var.log_retention_days
}
