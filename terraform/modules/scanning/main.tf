# A scan's phase: everything that a scan needs, and nothing that must outlive it.

data "aws_caller_identity" "current" {}

locals {
  account_id = data.aws_caller_identity.current.account_id
  fleet_name = "${var.name}-workers"
  fleet_arn  = "arn:aws:autoscaling:${var.region}:${local.account_id}:autoScalingGroup:*:autoScalingGroupName/${local.fleet_name}"
  namespace  = "EveryTab"
}

# The icons as they were served. This bucket is deleted with the scan, and `everytab-worker
# backup` copies it.
module "archive" {
  source = "../bucket"

  bucket                = "${var.name}-archive-${local.account_id}"
  keeps_versions        = false
  goes_with_its_objects = true
  expire                = { forgotten = { prefix = "", days = 30 } }
}
