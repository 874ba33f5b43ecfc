# Permissions for the workers and the console, in addition to those in modules/fleet.

locals {
  site    = "arn:aws:s3:::${var.site_bucket}"
  kept    = "arn:aws:s3:::${var.kept_bucket}"
  archive = module.archive.arn
  crawl   = "arn:aws:s3:::commoncrawl"

  machines = {
    worker = {
      description = "Machines of EveryTab's fleet"
      policy      = "machine"
      statements = [
        {
          Sid      = "LeaveTheGroup"
          Action   = "autoscaling:TerminateInstanceInAutoScalingGroup"
          Resource = local.fleet_arn
        },
        {
          Sid      = "ReadTheSigningKey"
          Action   = "secretsmanager:GetSecretValue"
          Resource = var.signing_secret_arn
        },
      ]
    }

    console = {
      description = "The machine of EveryTab's operator"
      policy      = "operate"
      statements = [
        {
          Sid      = "SignInAsOwner"
          Action   = "secretsmanager:GetSecretValue"
          Resource = module.fleet.database.secret
        },
        {
          Sid      = "ReadTheCrawl"
          Action   = ["s3:GetObject", "s3:ListBucket"]
          Resource = [local.crawl, "${local.crawl}/*"]
        },
        {
          Sid      = "FindObjects"
          Action   = "s3:ListBucket"
          Resource = [local.site, local.archive, local.kept]
        },
        # For publish, takedown and gc.
        {
          Sid = "ChangeTheSite"
          Action = [
            "s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload",
            "s3:DeleteObject",
          ]
          Resource = "${local.site}/*"
        },
        # backup reads the archive, gc and takedown delete parts of it, and doctor writes a
        # probe.
        {
          Sid      = "SweepTheArchive"
          Action   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
          Resource = "${local.archive}/*"
        },
        # Operators and takedown write the list of takedowns. Backups expire, so they are never
        # deleted from here.
        {
          Sid      = "KeepTakedownsAndBackups"
          Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
          Resource = ["${local.kept}/blocklist.txt", "${local.kept}/backups/*", "${local.kept}/.doctor/*"]
        },
        {
          Sid      = "RemoveProbesAndProgress"
          Action   = "s3:DeleteObject"
          Resource = ["${local.kept}/.doctor/*", "${local.kept}/backups/*/progress/*"]
        },
        # For takedown --everywhere: old versions of changed and deleted objects.
        {
          Sid      = "FindOldVersions"
          Action   = "s3:ListBucketVersions"
          Resource = local.site
        },
        {
          Sid      = "RemoveOldVersions"
          Action   = ["s3:GetObjectVersion", "s3:DeleteObjectVersion"]
          Resource = ["${local.site}/scans/*", "${local.site}/t/*"]
        },
        {
          Sid      = "InvalidateTheSite"
          Action   = "cloudfront:CreateInvalidation"
          Resource = "arn:aws:cloudfront::${local.account_id}:distribution/${var.distribution_id}"
        },
        # For stopping an hour after the scan was published (packaging/lib/stop-when-done). The
        # console's ID is not known here, because the console needs this policy when it starts.
        {
          Sid       = "StopItself"
          Action    = "ec2:StopInstances"
          Resource  = "arn:aws:ec2:${var.region}:${local.account_id}:instance/*"
          Condition = { StringEquals = { "aws:ResourceTag/Name" = local.console_name } }
        },
        {
          Sid      = "StopPostgres"
          Action   = ["rds:StopDBInstance", "rds:DescribeDBInstances"]
          Resource = module.fleet.database.arn
        },
        {
          Sid      = "TellTheOperator"
          Action   = "sns:Publish"
          Resource = var.alerts_topic_arn
        },
      ]
    }
  }

  processes = {
    # The worker's process parses untrusted files. It stores icons in the archive, and bundles
    # below the scan's prefix on the site. It writes no page, reads no backup, and deletes
    # nothing.
    scanner = {
      machine     = "worker"
      description = "EveryTab's worker processes"
      policy      = "scan"
      user        = "everytab_worker"
      statements = [
        {
          Sid      = "ReadTheCrawl"
          Action   = ["s3:GetObject", "s3:ListBucket"]
          Resource = [local.crawl, "${local.crawl}/*"]
        },
        {
          Sid      = "FindObjects"
          Action   = "s3:ListBucket"
          Resource = [local.site, local.archive]
        },
        {
          Sid      = "ReadAndWriteTheScansObjects"
          Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
          Resource = ["${local.archive}/archive/*", "${local.site}/scans/*"]
        },
        # The console writes the tokens that identify the scan's stores.
        {
          Sid      = "RecogniseTheStores"
          Action   = "s3:GetObject"
          Resource = ["${local.archive}/.everytab/*", "${local.site}/.everytab/*"]
        },
        # If the site shows this scan and a shard would lose many tabs, the shard keeps its
        # tabs.
        {
          Sid      = "ReadTheManifest"
          Action   = "s3:GetObject"
          Resource = "${local.site}/manifest.json"
        },
      ]
    }

    # The publisher is the console's only process that runs by itself.
    publisher = {
      machine     = "console"
      description = "EveryTab's publishing process"
      policy      = "publish"
      user        = "everytab_worker"
      statements = [
        {
          Sid      = "FindObjects"
          Action   = "s3:ListBucket"
          Resource = [local.site, local.kept]
        },
        {
          Sid      = "WriteTheSite"
          Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
          Resource = "${local.site}/*"
        },
        {
          Sid      = "ReadTheTakedownList"
          Action   = "s3:GetObject"
          Resource = "${local.kept}/blocklist.txt"
        },
        {
          Sid      = "InvalidateTheSite"
          Action   = "cloudfront:CreateInvalidation"
          Resource = "arn:aws:cloudfront::${local.account_id}:distribution/${var.distribution_id}"
        },
      ]
    }
  }
}
