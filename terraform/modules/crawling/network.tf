# A network of its own: public subnets in up to five zones, no NAT, a free gateway to S3. Nothing comes in but, where
# the operator says from where, HTTPS to the proxy before the HTTP service.

resource "aws_vpc" "crawls" {
  #checkov:skip=CKV2_AWS_11:flow logs of each fetch cost more than the machines; the outcomes are in Postgres
  cidr_block           = var.network_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true

  tags = { Name = local.service }
}

# The default security group, emptied: nothing is a member, and it allows nothing.
resource "aws_default_security_group" "crawls" {
  vpc_id = aws_vpc.crawls.id
}

resource "aws_internet_gateway" "crawls" {
  vpc_id = aws_vpc.crawls.id
}

resource "aws_subnet" "crawls" {
  #checkov:skip=CKV_AWS_130:crawlers fetch from the internet by addresses of their own: NAT costs 45 dollars a terabyte, and nothing may come in
  count = length(local.zones)

  vpc_id                  = aws_vpc.crawls.id
  availability_zone       = local.zones[count.index]
  cidr_block              = cidrsubnet(var.network_cidr, 4, count.index)
  map_public_ip_on_launch = true

  tags = { Name = "${local.service}-${local.zones[count.index]}" }
}

resource "aws_route_table" "crawls" {
  vpc_id = aws_vpc.crawls.id
}

resource "aws_route" "crawls" {
  route_table_id         = aws_route_table.crawls.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.crawls.id
}

resource "aws_route_table_association" "crawls" {
  count = length(local.zones)

  subnet_id      = aws_subnet.crawls[count.index].id
  route_table_id = aws_route_table.crawls.id
}

# Whoever takes over a process may read through this gateway what anybody may (strangers keep pages in S3, too), but
# write to no bucket that is not ours.
resource "aws_vpc_endpoint" "crawls" {
  vpc_id            = aws_vpc.crawls.id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.crawls.id]

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
        Action    = ["s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"]
        Resource  = "${module.pages.arn}/*"
      },
    ]
  })
}

resource "aws_security_group" "crawler" {
  name        = "${var.name}-crawler"
  description = "Crawlers: a few ports out, nothing in"
  vpc_id      = aws_vpc.crawls.id
}

# The ports that crates/webpage/src/url_rules.rs lets a page be on, name servers, and the time. The metadata service,
# AWS's resolver and its clock are on link-local addresses, which no group filters.
locals {
  ways_out = {
    http     = { protocol = "tcp", port = 80, what = "Pages" }
    https    = { protocol = "tcp", port = 443, what = "Pages, S3, AWS" }
    http_8   = { protocol = "tcp", port = 8080, what = "Pages on the other usual port" }
    https_8  = { protocol = "tcp", port = 8443, what = "Pages on the other usual port, by TLS" }
    dns      = { protocol = "udp", port = 53, what = "Name servers" }
    dns_long = { protocol = "tcp", port = 53, what = "Name servers, for long answers" }
    time     = { protocol = "udp", port = 123, what = "Time servers" }
  }
}

resource "aws_vpc_security_group_egress_rule" "crawler" {
  for_each = local.ways_out

  security_group_id = aws_security_group.crawler.id
  description       = each.value.what
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = each.value.protocol
  from_port         = each.value.port
  to_port           = each.value.port
}

# The HTTP service and the console: AWS alone. Which addresses the service's process may ask is narrower (fence-api).
resource "aws_security_group" "api" {
  name        = "${var.name}-api"
  description = "HTTP service: AWS and Postgres out, HTTPS in where that is said"
  vpc_id      = aws_vpc.crawls.id
}

resource "aws_security_group" "console" {
  name        = "${var.name}-crawl-console"
  description = "Console of the crawl service: AWS and Postgres out, nothing in"
  vpc_id      = aws_vpc.crawls.id
}

locals {
  groups = {
    crawler = aws_security_group.crawler.id
    api     = aws_security_group.api.id
    console = aws_security_group.console.id
  }
}

resource "aws_vpc_security_group_egress_rule" "aws" {
  for_each = { for name, group in local.groups : name => group if name != "crawler" }

  security_group_id = each.value
  description       = "AWS"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_ingress_rule" "api" {
  for_each = toset(var.api_open_to)

  security_group_id = aws_security_group.api.id
  description       = "HTTPS to the proxy"
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_security_group" "database" {
  name        = "${var.name}-crawls-database"
  description = "Postgres: from the service's machines alone"
  vpc_id      = aws_vpc.crawls.id
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
