# The phase of a scan: everything that it needs, and nothing that must outlive it.

data "aws_caller_identity" "current" {}

data "aws_availability_zones" "here" {
  #checkov:skip=CKV_AWS_394:at most five are taken, however many there are, and the network lives for days
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
  fleet_name = "${var.name}-workers"
  fleet_arn  = "arn:aws:autoscaling:${var.region}:${local.account_id}:autoScalingGroup:*:autoScalingGroupName/${local.fleet_name}"
  namespace  = "EveryTab"
}

# The icons as they were served. This bucket is deleted with the scan; `everytab-worker backup` copies it.
module "archive" {
  source = "../bucket"

  bucket                = "${var.name}-archive-${local.account_id}"
  keeps_versions        = false
  goes_with_its_objects = true
  expire                = { forgotten = { prefix = "", days = 30 } }
}
