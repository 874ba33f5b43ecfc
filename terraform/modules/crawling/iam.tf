# A crawl service's permissions, in addition to those in modules/fleet.

locals {
  pages = module.pages.arn

  machines = {
    crawl-machine = {
      description = "Machines of EveryTab's crawlers"
      policy      = "machine"
      statements = [
        {
          Sid      = "ReadTheSigningKey"
          Action   = "secretsmanager:GetSecretValue"
          Resource = var.signing_secret_arn
        },
      ]
    }

    api-machine = {
      description = "Machines of EveryTab's HTTP service"
      policy      = "machine"
      statements  = []
    }

    crawl-console = {
      description = "The machine of the operator of EveryTab's crawl service"
      policy      = "operate"
      statements = [
        {
          Sid      = "SignInAsOwner"
          Action   = "secretsmanager:GetSecretValue"
          Resource = module.fleet.database.secret
        },
        {
          Sid      = "FindObjects"
          Action   = "s3:ListBucket"
          Resource = local.pages
        },
        # For crawl indexes, `crawl gc`, and the probe of `doctor`.
        {
          Sid      = "KeepTheCrawls"
          Action   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"]
          Resource = "${local.pages}/*"
        },
      ]
    }
  }

  processes = {
    # The crawler parses untrusted pages. It uploads records, but cannot delete records or read
    # those of pages.
    crawler = {
      machine     = "crawl-machine"
      description = "EveryTab's crawlers"
      policy      = "crawl"
      user        = "everytab_worker"
      statements = [
        # Records, and at a crawl's end its indexes, its lists and the list of the bucket's
        # crawls.
        {
          Sid      = "PutRecords"
          Action   = ["s3:PutObject", "s3:AbortMultipartUpload"]
          Resource = ["${local.pages}/crawl-data/*", "${local.pages}/collinfo.json"]
        },
        # Input for the indexes, in addition to Postgres rows. Also unchanged pages, for their
        # links.
        {
          Sid    = "ReadForIndexesAndCopies"
          Action = "s3:GetObject"
          Resource = [
            "${local.pages}/crawl-data/*/robotstxt/*", "${local.pages}/crawl-data/*/warc/*",
            "${local.pages}/collinfo.json",
          ]
        },
        {
          Sid      = "FindForIndexes"
          Action   = "s3:ListBucket"
          Resource = local.pages
        },
      ]
    }

    # The HTTP service parses untrusted requests. It reads records at the locations that
    # Postgres names, and does not write to the store.
    api = {
      machine     = "api-machine"
      description = "EveryTab's HTTP service"
      policy      = "serve"
      user        = "everytab_api"
      statements = [
        {
          Sid      = "ReadRecords"
          Action   = "s3:GetObject"
          Resource = "${local.pages}/crawl-data/*"
        },
      ]
    }
  }
}
