# What a scan and a crawl service have in common: a network, a Postgres, a group of machines that fetch from the
# internet, the roles of all machines, what cloud-init writes on them, and a dashboard with alarms. The two callers
# say what differs.

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
}
