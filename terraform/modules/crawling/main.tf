# A crawl service: crawlers, the HTTP service before them, their Postgres, the bucket of what was captured, and a
# console. It lives for long, and beside scans or without: it shares nothing with the phase of a scan.

data "aws_caller_identity" "current" {}

data "aws_availability_zones" "here" {
  #checkov:skip=CKV_AWS_394:at most five are taken, however many there are
  state = "available"

  # Names of zones differ between accounts. This one has neither current Arm instances nor each class
  # of database.
  exclude_zone_ids = ["use1-az3"]

  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

locals {
  account_id = data.aws_caller_identity.current.account_id
  # More zones have more spot capacity.
  zone_names = sort(data.aws_availability_zones.here.names)
  zones      = slice(local.zone_names, 0, min(5, length(local.zone_names)))
  service    = "${var.name}-crawls"
  fleet_name = "${var.name}-crawlers"
  namespace  = "EveryTab"
}

# What was captured. It outlives the machines that wrote it: while the service is protected S3 refuses to destroy it
# before it is empty.
module "pages" {
  source = "../bucket"

  bucket                = "${var.name}-crawls-${local.account_id}"
  keeps_versions        = false
  goes_with_its_objects = !var.protected
  expire                = var.retention_days == null ? {} : { captured = { prefix = "crawl-data/", days = var.retention_days } }
}
