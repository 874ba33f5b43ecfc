# A crawl service: crawlers, an HTTP service, their Postgres, the bucket with captures, and a
# console. It lives for years, with or without scans.

data "aws_caller_identity" "current" {}

locals {
  service    = "${var.name}-crawls"
  fleet_name = "${var.name}-crawlers"
  namespace  = "EveryTab"
}

# This bucket with captures outlives the instances that wrote to it. While the service is
# protected, S3 refuses to destroy the bucket unless it is empty.
module "pages" {
  source = "../bucket"

  bucket                = "${var.name}-crawls-${data.aws_caller_identity.current.account_id}"
  keeps_versions        = false
  goes_with_its_objects = !var.protected
  expire                = var.retention_days == null ? {} : { captured = { prefix = "crawl-data/", days = var.retention_days } }
}
