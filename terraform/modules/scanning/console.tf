# The console: a small on-demand instance for the operator, which starts the scan and publishes
# it. When the scan has finished, it stops Postgres and itself (stop_when); both can be started
# again. It runs no job that reads untrusted bytes.

locals {
  console_name  = "${var.name}-console"
  console_types = { arm64 = "t4g.medium", x86_64 = "t3.medium" }
}

resource "aws_instance" "console" {
  #checkov:skip=CKV_AWS_126:a mostly idle machine does not need metrics per minute
  count = var.console ? 1 : 0

  # With associate_public_ip_address, the next apply would replace a stopped console, because it
  # has no address then (terraform-provider-aws issue 33775).
  ami                  = var.ami_id
  instance_type        = coalesce(var.console_instance_type, local.console_types[var.architecture])
  ebs_optimized        = true
  iam_instance_profile = module.fleet.profiles["console"]
  # The console migrates and starts the scan as soon as it is running, so its permissions and
  # outgoing connections must exist first.
  subnet_id                            = module.fleet.subnet_ids[0]
  vpc_security_group_ids               = [module.fleet.groups["workers"]]
  instance_initiated_shutdown_behavior = "terminate"
  user_data_base64                     = module.fleet.user_data["console"]
  user_data_replace_on_change          = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  # Space for a backup's dump, and for Postgres with its rows while a backup is verified.
  root_block_device {
    volume_type           = "gp3"
    volume_size           = var.console_volume_gb
    encrypted             = true
    delete_on_termination = true
    tags                  = { Name = "${var.name}-console", Project = var.name }
  }

  tags = { Name = local.console_name }
}
