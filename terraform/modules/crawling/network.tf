# HTTPS to the proxy before the HTTP service, where the operator says from where. Nothing else comes in.
resource "aws_vpc_security_group_ingress_rule" "api" {
  for_each = toset(var.api_open_to)

  security_group_id = module.fleet.groups["api"]
  description       = "HTTPS to the proxy"
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}
