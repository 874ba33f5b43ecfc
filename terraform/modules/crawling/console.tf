# The crawl service's console: a small instance for the operator, which migrates the database
# and publishes counts. Only the console has the owner's rights.

resource "aws_instance" "console" {
  #checkov:skip=CKV_AWS_88:the machine reaches AWS over its public address, and accepts no connections
  #checkov:skip=CKV_AWS_126:a mostly idle machine does not need metrics per minute
  ami                  = var.ami_id
  instance_type        = local.small[var.architecture]
  ebs_optimized        = true
  iam_instance_profile = module.fleet.profiles["crawl-console"]
  # The console migrates as soon as it is running, so its permissions and outgoing connections
  # must exist first.
  subnet_id                            = module.fleet.subnet_ids[0]
  vpc_security_group_ids               = [module.fleet.groups["console"]]
  associate_public_ip_address          = true
  instance_initiated_shutdown_behavior = "terminate"
  user_data_base64                     = module.fleet.user_data["crawl-console"]
  user_data_replace_on_change          = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  root_block_device {
    volume_type           = "gp3"
    volume_size           = var.root_volume_gb
    encrypted             = true
    delete_on_termination = true
    tags                  = { Name = "${var.name}-crawl-console", Project = var.name }
  }

  tags = { Name = "${var.name}-crawl-console" }
}
