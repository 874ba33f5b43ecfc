# The HTTP service on separate on-demand instances. Each listens on loopback. If the operator
# names a domain, Caddy serves in front of it with a certificate for this name.

locals {
  small = { arm64 = "t4g.small", x86_64 = "t3.small" }
}

resource "aws_instance" "api" {
  #checkov:skip=CKV_AWS_88:the machine reaches AWS over its public address, and accepts connections only from api_open_to
  #checkov:skip=CKV_AWS_126:publish-ready reports each minute whether the service works
  count = var.api_machines

  ami                  = var.ami_id
  instance_type        = coalesce(var.api_instance_type, local.small[var.architecture])
  ebs_optimized        = true
  iam_instance_profile = module.fleet.profiles["api-machine"]
  # The instance's permissions and outgoing connections must exist first.
  subnet_id                            = module.fleet.subnet_ids[count.index % length(module.fleet.subnet_ids)]
  vpc_security_group_ids               = [module.fleet.groups["api"]]
  associate_public_ip_address          = true
  instance_initiated_shutdown_behavior = "terminate"
  user_data_base64                     = module.fleet.user_data["api-machine"]
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
    tags                  = { Name = "${var.name}-api", Project = var.name }
  }

  tags = { Name = "${var.name}-api" }
}

# This address for the operator's DNS zone remains when the instance is replaced.
resource "aws_eip" "api" {
  count = var.api_machines

  domain   = "vpc"
  instance = aws_instance.api[count.index].id

  tags = { Name = "${var.name}-api" }
}
