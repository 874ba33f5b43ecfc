# A network of its own: public subnets in up to five zones, no NAT (a scan would read terabytes through it), a
# free gateway to S3, and no inbound connections.

resource "aws_vpc" "scan" {
  #checkov:skip=CKV2_AWS_11:flow logs of 150 million fetches cost as much as the fleet; the outcomes are in Postgres
  cidr_block           = var.network_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

# The default security group, emptied: nothing is a member, and it allows nothing.
resource "aws_default_security_group" "scan" {
  vpc_id = aws_vpc.scan.id
}

resource "aws_internet_gateway" "scan" {
  vpc_id = aws_vpc.scan.id
}

resource "aws_subnet" "public" {
  #checkov:skip=CKV_AWS_130:workers fetch from the internet by addresses of their own: NAT would cost 180 dollars a scan, and nothing may come in
  count = length(local.zones)

  vpc_id                  = aws_vpc.scan.id
  availability_zone       = local.zones[count.index]
  cidr_block              = cidrsubnet(var.network_cidr, 4, count.index)
  map_public_ip_on_launch = true

  tags = { Name = "${var.name}-${local.zones[count.index]}" }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.scan.id
}

resource "aws_route" "internet" {
  route_table_id         = aws_route_table.public.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.scan.id
}

resource "aws_route_table_association" "public" {
  count = length(local.zones)

  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}

# Whoever takes over a process may read through this gateway what anybody may (strangers keep icons in
# S3, too), but write to no bucket that is not ours.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.scan.id
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
      {
        Sid       = "WriteOnlyOurs"
        Effect    = "Allow"
        Principal = "*"
        Action = [
          "s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject",
          "s3:ListBucketVersions", "s3:GetObjectVersion", "s3:DeleteObjectVersion",
        ]
        Resource = flatten([for bucket in [local.site, local.archive, local.kept] : [bucket, "${bucket}/*"]])
      },
    ]
  })
}

resource "aws_security_group" "worker" {
  name        = "${var.name}-worker"
  description = "Workers and console: a few ports out, nothing in"
  vpc_id      = aws_vpc.scan.id
}

# The ports that crates/webpage/src/url_rules.rs lets an icon be on, name servers, and the time. The
# metadata service, AWS's resolver and its clock are on link-local addresses, which no group filters.
locals {
  ways_out = {
    http     = { protocol = "tcp", port = 80, what = "Icons" }
    https    = { protocol = "tcp", port = 443, what = "Icons, S3, AWS" }
    http_8   = { protocol = "tcp", port = 8080, what = "Icons on the other usual port" }
    https_8  = { protocol = "tcp", port = 8443, what = "Icons on the other usual port, by TLS" }
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

resource "aws_vpc_security_group_egress_rule" "database" {
  security_group_id            = aws_security_group.worker.id
  description                  = "Postgres"
  referenced_security_group_id = aws_security_group.database.id
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
}

resource "aws_security_group" "database" {
  name        = "${var.name}-database"
  description = "Postgres: from the workers alone"
  vpc_id      = aws_vpc.scan.id
}

resource "aws_vpc_security_group_ingress_rule" "database" {
  security_group_id            = aws_security_group.database.id
  description                  = "Postgres, from the workers"
  referenced_security_group_id = aws_security_group.worker.id
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
}
