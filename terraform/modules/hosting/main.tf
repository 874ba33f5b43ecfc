# The phase that always exists: the site, and everything that must outlive a scan.

data "aws_caller_identity" "current" {}

locals {
  account_id = data.aws_caller_identity.current.account_id
}

module "site" {
  source = "../bucket"

  bucket         = "${var.name}-site-${local.account_id}"
  keeps_versions = true

  statements = [{
    Sid       = "CloudFrontReads"
    Effect    = "Allow"
    Principal = { Service = "cloudfront.amazonaws.com" }
    Action    = "s3:GetObject"
    Resource  = "arn:aws:s3:::${var.name}-site-${local.account_id}/*"
    Condition = { StringEquals = { "AWS:SourceArn" = aws_cloudfront_distribution.site.arn } }
  }]
}

# The takedown list, and backups.
module "kept" {
  source = "../bucket"

  bucket         = "${var.name}-kept-${local.account_id}"
  keeps_versions = true
  expire         = { backups = { prefix = "backups/", days = var.backup_retention_days } }
}

# The key that signs a month's requests. terraform creates only the secret, and the operator
# stores a key in it (docs/scan.md), so that no state contains the key.
resource "aws_secretsmanager_secret" "signing" {
  #checkov:skip=CKV_AWS_149:AWS's own key suffices, and a key of ours would cost more than the secret
  #checkov:skip=CKV2_AWS_57:the operator replaces the key each month, together with the site's key directory
  name                    = "${var.name}-signing-key"
  description             = "Ed25519 key that the workers sign requests with"
  recovery_window_in_days = 0
}
