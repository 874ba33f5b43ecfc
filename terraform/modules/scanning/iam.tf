# The permissions of the fleet and of the console. Policies are JSON documents here, so that plans and
# tests can read them.
#
# Each machine has a role of its own, and no program that reads a stranger's bytes holds it: a broker of
# another user takes a second role with it, which has less, and hands that role's credentials to the
# program. docs/decisions/0046-roles-apart.md says which role does what.

locals {
  site    = "arn:aws:s3:::${var.site_bucket}"
  kept    = "arn:aws:s3:::${var.kept_bucket}"
  archive = module.archive.arn
  crawl   = "arn:aws:s3:::commoncrawl"
  logs    = "arn:aws:logs:${var.region}:${local.account_id}:log-group:${var.machine_logs}:log-stream:*"

  for_instances = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })

  # What every machine needs: a shell by Systems Manager (no open port, no key; of AWS's managed policy
  # only what a session takes, which reads no parameter), its log, its counts.
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
  # What both programs that run under a second role need of Postgres.
  signs_in = {
    Sid      = "SignInAsWorker"
    Effect   = "Allow"
    Action   = "rds-db:connect"
    Resource = "arn:aws:rds-db:${var.region}:${local.account_id}:dbuser:${aws_db_instance.scan.resource_id}/everytab_worker"
  }
}

# A worker's machine.

resource "aws_iam_role" "worker" {
  name                 = "${var.name}-worker"
  description          = "Machines of EveryTab's fleet"
  max_session_duration = 3600
  assume_role_policy   = local.for_instances
}

resource "aws_iam_role_policy" "worker" {
  name = "machine"
  role = aws_iam_role.worker.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(local.of_every_machine, [
      {
        Sid      = "HandOnAnotherRole"
        Effect   = "Allow"
        Action   = "sts:AssumeRole"
        Resource = "arn:aws:iam::${local.account_id}:role/${var.name}-scanner"
      },
      {
        Sid      = "LeaveTheGroup"
        Effect   = "Allow"
        Action   = "autoscaling:TerminateInstanceInAutoScalingGroup"
        Resource = local.fleet_arn
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

resource "aws_iam_instance_profile" "worker" {
  name = "${var.name}-worker"
  role = aws_iam_role.worker.name
}

# The worker's process, which reads what strangers wrote: icons go to the archive, bundles to the
# scan's own prefix of the site. It writes no page, reads no backup, deletes nothing.

resource "aws_iam_role" "scanner" {
  name                 = "${var.name}-scanner"
  description          = "EveryTab's worker processes"
  max_session_duration = 3600

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = aws_iam_role.worker.arn }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "scanner" {
  name = "scan"
  role = aws_iam_role.scanner.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      local.signs_in,
      {
        Sid      = "ReadTheCrawl"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:ListBucket"]
        Resource = [local.crawl, "${local.crawl}/*"]
      },
      {
        Sid      = "FindObjects"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = [local.site, local.archive]
      },
      {
        Sid      = "ReadAndWriteTheScansObjects"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        Resource = ["${local.archive}/archive/*", "${local.site}/scans/*"]
      },
      # The tokens by which it recognises the scan's stores; the console writes them.
      {
        Sid      = "RecogniseTheStores"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = ["${local.archive}/.everytab/*", "${local.site}/.everytab/*"]
      },
    ]
  })
}

# The console: the operator's machine, which also starts the scan.

resource "aws_iam_role" "console" {
  name                 = "${var.name}-console"
  description          = "The machine of EveryTab's operator"
  max_session_duration = 3600
  assume_role_policy   = local.for_instances
}

resource "aws_iam_role_policy" "console" {
  name = "operate"
  role = aws_iam_role.console.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(local.of_every_machine, [
      {
        Sid      = "HandOnAnotherRole"
        Effect   = "Allow"
        Action   = "sts:AssumeRole"
        Resource = "arn:aws:iam::${local.account_id}:role/${var.name}-publisher"
      },
      {
        Sid      = "SignInAsOwner"
        Effect   = "Allow"
        Action   = "secretsmanager:GetSecretValue"
        Resource = aws_db_instance.scan.master_user_secret[0].secret_arn
      },
      {
        Sid      = "ReadTheCrawl"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:ListBucket"]
        Resource = [local.crawl, "${local.crawl}/*"]
      },
      {
        Sid      = "FindObjects"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = [local.site, local.archive, local.kept]
      },
      # publish, takedown, gc.
      {
        Sid    = "ChangeTheSite"
        Effect = "Allow"
        Action = [
          "s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload",
          "s3:DeleteObject",
        ]
        Resource = "${local.site}/*"
      },
      # backup reads it, gc and takedown delete of it, doctor writes a probe.
      {
        Sid      = "SweepTheArchive"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
        Resource = "${local.archive}/*"
      },
      # The list of takedowns is written by hand and by takedown; backups are never deleted from here:
      # they expire.
      {
        Sid      = "KeepTakedownsAndBackups"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        Resource = ["${local.kept}/blocklist.txt", "${local.kept}/backups/*", "${local.kept}/.doctor/*"]
      },
      {
        Sid      = "RemoveProbesAndProgress"
        Effect   = "Allow"
        Action   = "s3:DeleteObject"
        Resource = ["${local.kept}/.doctor/*", "${local.kept}/backups/*/progress/*"]
      },
      # takedown --everywhere: what the site's bucket keeps of objects that were changed or deleted.
      {
        Sid      = "FindOldVersions"
        Effect   = "Allow"
        Action   = "s3:ListBucketVersions"
        Resource = local.site
      },
      {
        Sid      = "RemoveOldVersions"
        Effect   = "Allow"
        Action   = ["s3:GetObjectVersion", "s3:DeleteObjectVersion"]
        Resource = "${local.site}/scans/*"
      },
      {
        Sid      = "InvalidateTheSite"
        Effect   = "Allow"
        Action   = "cloudfront:CreateInvalidation"
        Resource = "arn:aws:cloudfront::${local.account_id}:distribution/${var.distribution_id}"
      },
      # An hour after the scan was published (packaging/lib/stop-when-done). The console's id is not known
      # here, for the console needs this policy when it comes up.
      {
        Sid       = "StopItself"
        Effect    = "Allow"
        Action    = "ec2:StopInstances"
        Resource  = "arn:aws:ec2:${var.region}:${local.account_id}:instance/*"
        Condition = { StringEquals = { "aws:ResourceTag/Name" = local.console_name } }
      },
      {
        Sid      = "StopPostgres"
        Effect   = "Allow"
        Action   = "rds:StopDBInstance"
        Resource = aws_db_instance.scan.arn
      },
      {
        Sid      = "TellTheOperator"
        Effect   = "Allow"
        Action   = "sns:Publish"
        Resource = var.alerts_topic_arn
      },
    ])
  })
}

resource "aws_iam_instance_profile" "console" {
  name = "${var.name}-console"
  role = aws_iam_role.console.name
}

# The console's one process that works by itself: it publishes.

resource "aws_iam_role" "publisher" {
  name                 = "${var.name}-publisher"
  description          = "EveryTab's publishing process"
  max_session_duration = 3600

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = aws_iam_role.console.arn }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "publisher" {
  name = "publish"
  role = aws_iam_role.publisher.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      local.signs_in,
      {
        Sid      = "FindObjects"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = [local.site, local.kept]
      },
      {
        Sid      = "WriteTheSite"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        Resource = "${local.site}/*"
      },
      {
        Sid      = "ReadTheTakedownList"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "${local.kept}/blocklist.txt"
      },
      {
        Sid      = "InvalidateTheSite"
        Effect   = "Allow"
        Action   = "cloudfront:CreateInvalidation"
        Resource = "arn:aws:cloudfront::${local.account_id}:distribution/${var.distribution_id}"
      },
    ]
  })
}
