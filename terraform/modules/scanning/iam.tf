# The permissions of a worker. Policies are JSON documents here, so that plans and tests can read them.

resource "aws_iam_role" "worker" {
  name                 = "${var.name}-worker"
  description          = "EveryTab's workers"
  max_session_duration = 3600

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

locals {
  site    = "arn:aws:s3:::${var.site_bucket}"
  kept    = "arn:aws:s3:::${var.kept_bucket}"
  archive = module.archive.arn
  crawl   = "arn:aws:s3:::commoncrawl"
}

resource "aws_iam_role_policy" "worker" {
  name = "scan"
  role = aws_iam_role.worker.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "ReadTheCrawl"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:ListBucket"]
        Resource = [local.crawl, "${local.crawl}/*"]
      },
      {
        Sid      = "FindObjects"
        Effect   = "Allow"
        Action   = ["s3:ListBucket", "s3:ListBucketMultipartUploads"]
        Resource = [local.site, local.archive, local.kept]
      },
      {
        Sid      = "ReadAndWriteArchiveAndSite"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        Resource = ["${local.archive}/*", "${local.site}/*"]
      },
      {
        Sid      = "ReadTheTakedownList"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "${local.kept}/blocklist.txt"
      },
      {
        Sid      = "WriteBackups"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
        Resource = "${local.kept}/backups/*"
      },
      {
        Sid      = "InvalidateTheSite"
        Effect   = "Allow"
        Action   = "cloudfront:CreateInvalidation"
        Resource = "arn:aws:cloudfront::${local.account_id}:distribution/${var.distribution_id}"
      },
      {
        Sid      = "SignInAsWorker"
        Effect   = "Allow"
        Action   = "rds-db:connect"
        Resource = "arn:aws:rds-db:${var.region}:${local.account_id}:dbuser:${aws_db_instance.scan.resource_id}/everytab_worker"
      },
      {
        Sid      = "MigrateAndStart"
        Effect   = "Allow"
        Action   = "secretsmanager:GetSecretValue"
        Resource = aws_db_instance.scan.master_user_secret[0].secret_arn
      },
      {
        Sid      = "LeaveTheGroup"
        Effect   = "Allow"
        Action   = "autoscaling:TerminateInstanceInAutoScalingGroup"
        Resource = local.fleet_arn
      },
      {
        Sid       = "CountForTheDashboard"
        Effect    = "Allow"
        Action    = "cloudwatch:PutMetricData"
        Resource  = "*"
        Condition = { StringEquals = { "cloudwatch:namespace" = local.namespace } }
      },
    ]
  })
}

# A shell by Systems Manager: no open port, no key.
resource "aws_iam_role_policy_attachment" "session_manager" {
  role       = aws_iam_role.worker.name
  policy_arn = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
}

resource "aws_iam_instance_profile" "worker" {
  name = "${var.name}-worker"
  role = aws_iam_role.worker.name
}
