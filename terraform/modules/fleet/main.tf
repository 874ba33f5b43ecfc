# The parts that a scan and a crawl service have in common: a network, a Postgres, a group of
# instances that fetch from the internet, all machines' roles and files, and a dashboard with
# alarms.

data "aws_caller_identity" "current" {}

data "aws_availability_zones" "here" {
  #checkov:skip=CKV_AWS_394:the module uses at most five zones
  state = "available"

  # Zone names differ between accounts, so this uses the zone's ID. This zone has neither
  # current Arm instances nor each database class.
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
