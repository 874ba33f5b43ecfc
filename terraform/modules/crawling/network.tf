# HTTPS to the proxy in front of the HTTP service, from the addresses that the operator allows.
# Nothing else can be reached from the internet.
resource "aws_vpc_security_group_ingress_rule" "api" {
  for_each = toset(var.api_open_to)

  security_group_id = module.fleet.groups["api"]
  description       = "HTTPS to the proxy"
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}
