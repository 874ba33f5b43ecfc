# A separate network: public subnets in up to five zones, no NAT (terabytes would go through
# it), and a free gateway to S3. From the internet, machines can be reached only if a caller
# opens a port.

resource "aws_vpc" "this" {
  #checkov:skip=CKV2_AWS_11:flow logs would cost as much as the machines, and Postgres contains the outcomes
  cidr_block           = var.network_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true

  tags = { Name = var.service }
}

# The default security group has no members and allows nothing.
resource "aws_default_security_group" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_subnet" "public" {
  #checkov:skip=CKV_AWS_130:machines need public addresses, because NAT costs 45 dollars per terabyte
  count = length(local.zones)

  vpc_id                  = aws_vpc.this.id
  availability_zone       = local.zones[count.index]
  cidr_block              = cidrsubnet(var.network_cidr, 4, count.index)
  map_public_ip_on_launch = true

  tags = { Name = "${var.service}-${local.zones[count.index]}" }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id
}

resource "aws_route" "internet" {
  route_table_id         = aws_route_table.public.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this.id
}

resource "aws_route_table_association" "public" {
  count = length(local.zones)

  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}

# Websites' pages and icons are in S3, too, so an attacker in a process may read public objects
# through this gateway, but can only write to our buckets.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.this.id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.public.id]

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "ReadWhatEachBucketAllows"
        Effect    = "Allow"
        Principal = "*"
        Action    = ["s3:GetObject", "s3:ListBucket"]
        Resource  = "*"
      },
      merge({ Sid = "WriteOnlyOurs", Effect = "Allow", Principal = "*" }, var.written),
    ]
  })
}

resource "aws_security_group" "worker" {
  name        = "${var.name}-${var.workers.group}"
  description = var.workers.group_description
  vpc_id      = aws_vpc.this.id
}

# The ports that crates/core/webpage/src/url_rules.rs allows for pages and icons, and those for
# name servers and the time. The metadata service, AWS's resolver and its clock have link-local
# addresses, which security groups do not filter.
locals {
  ways_out = {
    http     = { protocol = "tcp", port = 80, what = var.workers.fetch }
    https    = { protocol = "tcp", port = 443, what = "${var.workers.fetch}, S3, AWS" }
    http_8   = { protocol = "tcp", port = 8080, what = "${var.workers.fetch} on the other usual port" }
    https_8  = { protocol = "tcp", port = 8443, what = "${var.workers.fetch} on the other usual port, by TLS" }
    dns      = { protocol = "udp", port = 53, what = "Name servers" }
    dns_long = { protocol = "tcp", port = 53, what = "Name servers, for long answers" }
    time     = { protocol = "udp", port = 123, what = "Time servers" }
  }
}

resource "aws_vpc_security_group_egress_rule" "worker" {
  for_each = local.ways_out

  security_group_id = aws_security_group.worker.id
  description       = each.value.what
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = each.value.protocol
  from_port         = each.value.port
  to_port           = each.value.port
}

# Machines that do not fetch from the web may connect only to AWS.
resource "aws_security_group" "other" {
  #checkov:skip=CKV2_AWS_5:the callers attach it to machines, which this check does not follow
  for_each = var.other_groups

  name        = "${var.name}-${each.value.name}"
  description = each.value.description
  vpc_id      = aws_vpc.this.id
}

resource "aws_vpc_security_group_egress_rule" "aws" {
  for_each = var.other_groups

  security_group_id = aws_security_group.other[each.key].id
  description       = "AWS"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_security_group" "database" {
  name        = "${var.service}-database"
  description = var.database.group_description
  vpc_id      = aws_vpc.this.id
}

locals {
  groups = merge(
    { (var.workers.word) = aws_security_group.worker.id },
    { for name, group in aws_security_group.other : name => group.id },
  )
}

resource "aws_vpc_security_group_egress_rule" "database" {
  for_each = local.groups

  security_group_id            = each.value
  description                  = "Postgres"
  referenced_security_group_id = aws_security_group.database.id
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
}

resource "aws_vpc_security_group_ingress_rule" "database" {
  for_each = local.groups

  security_group_id            = aws_security_group.database.id
  description                  = "Postgres, from the ${each.key}"
  referenced_security_group_id = each.value
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
}
