# The permissions of a crawl service, as documents that plans and tests can read. As in a scan's fleet no program that
# reads a stranger's bytes, or a stranger's requests, holds its machine's role: a broker of another user takes a second
# role with it, which has less. docs/decisions/0085-a-crawl-service.md says which role does what.

locals {
  pages = module.pages.arn
  logs  = "arn:aws:logs:${var.region}:${local.account_id}:log-group:${var.machine_logs}:log-stream:*"

  for_instances = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })

  # What every machine needs: a shell by Systems Manager (no open port, no key), its log, its counts.
  of_every_machine = [
    {
      Sid    = "SessionManager"
      Effect = "Allow"
      Action = [
        "ssm:UpdateInstanceInformation",
        "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
      ]
      Resource  = "*"
      Condition = { StringEquals = { "aws:RequestedRegion" = var.region } }
    },
    {
      Sid      = "WriteItsLog"
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = local.logs
    },
    {
      Sid       = "CountForTheDashboard"
      Effect    = "Allow"
      Action    = "cloudwatch:PutMetricData"
      Resource  = "*"
      Condition = { StringEquals = { "cloudwatch:namespace" = local.namespace } }
    },
  ]
  user_of_postgres = "arn:aws:rds-db:${var.region}:${local.account_id}:dbuser:${aws_db_instance.crawls.resource_id}"
}

# A crawler's machine.

resource "aws_iam_role" "crawl_machine" {
  name                 = "${var.name}-crawl-machine"
  description          = "Machines of EveryTab's crawlers"
  max_session_duration = 3600
  assume_role_policy   = local.for_instances
}

resource "aws_iam_role_policy" "crawl_machine" {
  name = "machine"
  role = aws_iam_role.crawl_machine.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(local.of_every_machine, [
      {
        Sid      = "HandOnAnotherRole"
        Effect   = "Allow"
        Action   = "sts:AssumeRole"
        Resource = "arn:aws:iam::${local.account_id}:role/${var.name}-crawler"
      },
      {
        Sid      = "ReadTheSigningKey"
        Effect   = "Allow"
        Action   = "secretsmanager:GetSecretValue"
        Resource = var.signing_secret_arn
      },
    ])
  })
}

resource "aws_iam_instance_profile" "crawl_machine" {
  name = "${var.name}-crawl-machine"
  role = aws_iam_role.crawl_machine.name
}

# The crawler, which reads what strangers wrote: it puts records, and can neither read those of pages nor delete any.

resource "aws_iam_role" "crawler" {
  name                 = "${var.name}-crawler"
  description          = "EveryTab's crawlers"
  max_session_duration = 3600

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = aws_iam_role.crawl_machine.arn }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "crawler" {
  name = "crawl"
  role = aws_iam_role.crawler.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "SignInAsWorker"
        Effect   = "Allow"
        Action   = "rds-db:connect"
        Resource = "${local.user_of_postgres}/everytab_worker"
      },
      # Records; and what a crawl leaves at its end: indexes, lists, the list of the bucket's crawls.
      {
        Sid      = "PutRecords"
        Effect   = "Allow"
        Action   = ["s3:PutObject", "s3:AbortMultipartUpload"]
        Resource = ["${local.pages}/crawl-data/*", "${local.pages}/collinfo.json"]
      },
      # What the indexes are made of beside rows of Postgres; and pages that have not changed, for the links in them.
      {
        Sid    = "ReadForIndexesAndCopies"
        Effect = "Allow"
        Action = "s3:GetObject"
        Resource = [
          "${local.pages}/crawl-data/*/robotstxt/*", "${local.pages}/crawl-data/*/warc/*",
          "${local.pages}/collinfo.json",
        ]
      },
      {
        Sid      = "FindForIndexes"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = local.pages
      },
    ]
  })
}

# A machine of the HTTP service.

resource "aws_iam_role" "api_machine" {
  name                 = "${var.name}-api-machine"
  description          = "Machines of EveryTab's HTTP service"
  max_session_duration = 3600
  assume_role_policy   = local.for_instances
}

resource "aws_iam_role_policy" "api_machine" {
  name = "machine"
  role = aws_iam_role.api_machine.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(local.of_every_machine, [
      {
        Sid      = "HandOnAnotherRole"
        Effect   = "Allow"
        Action   = "sts:AssumeRole"
        Resource = "arn:aws:iam::${local.account_id}:role/${var.name}-api"
      },
    ])
  })
}

resource "aws_iam_instance_profile" "api_machine" {
  name = "${var.name}-api-machine"
  role = aws_iam_role.api_machine.name
}

# The HTTP service, which reads what anybody sends: it reads records by the places that Postgres names, and writes
# nothing to the store.

resource "aws_iam_role" "api" {
  name                 = "${var.name}-api"
  description          = "EveryTab's HTTP service"
  max_session_duration = 3600

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = aws_iam_role.api_machine.arn }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "api" {
  name = "serve"
  role = aws_iam_role.api.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "SignInAsApi"
        Effect   = "Allow"
        Action   = "rds-db:connect"
        Resource = "${local.user_of_postgres}/everytab_api"
      },
      {
        Sid      = "ReadRecords"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "${local.pages}/crawl-data/*"
      },
    ]
  })
}

# The console: the operator's machine.

resource "aws_iam_role" "crawl_console" {
  name                 = "${var.name}-crawl-console"
  description          = "The machine of the operator of EveryTab's crawl service"
  max_session_duration = 3600
  assume_role_policy   = local.for_instances
}

resource "aws_iam_role_policy" "crawl_console" {
  name = "operate"
  role = aws_iam_role.crawl_console.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(local.of_every_machine, [
      {
        Sid      = "SignInAsOwner"
        Effect   = "Allow"
        Action   = "secretsmanager:GetSecretValue"
        Resource = aws_db_instance.crawls.master_user_secret[0].secret_arn
      },
      {
        Sid      = "FindObjects"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = local.pages
      },
      # The index of a crawl, what is removed of it, doctor's probe.
      {
        Sid      = "KeepTheCrawls"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"]
        Resource = "${local.pages}/*"
      },
    ])
  })
}

resource "aws_iam_instance_profile" "crawl_console" {
  name = "${var.name}-crawl-console"
  role = aws_iam_role.crawl_console.name
}
