# The console of the crawl service: a small machine of the operator, which migrates the database and counts. It alone
# has the owner's rights; it crawls and serves nothing.

resource "aws_instance" "console" {
  #checkov:skip=CKV_AWS_88:it reaches AWS by an address of its own, and nothing may come in
  #checkov:skip=CKV_AWS_126:metrics by the minute tell nothing more of a machine that waits
  ami                                  = var.ami_id
  instance_type                        = local.small[var.architecture]
  ebs_optimized                        = true
  iam_instance_profile                 = aws_iam_instance_profile.crawl_console.name
  subnet_id                            = aws_subnet.crawls[0].id
  vpc_security_group_ids               = [aws_security_group.console.id]
  associate_public_ip_address          = true
  instance_initiated_shutdown_behavior = "terminate"
  user_data_base64                     = local.user_data.console
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

  # It migrates as soon as it is up.
  depends_on = [
    aws_iam_role_policy.crawl_console, aws_route.crawls,
    aws_route_table_association.crawls, aws_vpc_endpoint.crawls,
    aws_vpc_security_group_egress_rule.aws, aws_vpc_security_group_egress_rule.database,
    aws_vpc_security_group_ingress_rule.database,
  ]
}
