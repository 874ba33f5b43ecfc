# A crawl service: crawlers, the HTTP service before them, their Postgres, the bucket of what was captured, and a
# console. It lives for long, and beside scans or without: it shares nothing with the phase of a scan but the module.

data "aws_caller_identity" "current" {}

locals {
  service    = "${var.name}-crawls"
  fleet_name = "${var.name}-crawlers"
  namespace  = "EveryTab"
}

# What was captured. It outlives the machines that wrote it: while the service is protected S3 refuses to destroy it
# before it is empty.
module "pages" {
  source = "../bucket"

  bucket                = "${var.name}-crawls-${data.aws_caller_identity.current.account_id}"
  keeps_versions        = false
  goes_with_its_objects = !var.protected
  expire                = var.retention_days == null ? {} : { captured = { prefix = "crawl-data/", days = var.retention_days } }
}
