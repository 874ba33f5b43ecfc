# A private bucket: no ACLs, no public access, TLS only, encrypted, unfinished uploads deleted.

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV_AWS_18:only CloudFront and our own roles use these buckets, and CloudFront logs the site's visitors
  #checkov:skip=CKV_AWS_144:a second region would double the cost
  #checkov:skip=CKV_AWS_145:SSE-S3 suffices, and requests to KMS would cost more than the storage
  #checkov:skip=CKV2_AWS_62:no program uses events from these buckets
  #checkov:skip=CKV_AWS_21:keeps_versions is true for buckets whose objects must not be lost
  bucket        = var.bucket
  force_destroy = var.goes_with_its_objects
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket                  = aws_s3_bucket.this.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm = "AES256"
    }
  }
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id

  versioning_configuration {
    status = var.keeps_versions ? "Enabled" : "Suspended"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    id     = "half-made-uploads"
    status = "Enabled"
    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }

    noncurrent_version_expiration {
      noncurrent_days = 30
    }

    # If all versions of a deleted object are gone, a delete marker remains.
    expiration {
      expired_object_delete_marker = true
    }
  }

  dynamic "rule" {
    for_each = var.expire

    content {
      id     = "expire-${rule.key}"
      status = "Enabled"

      filter {
        prefix = rule.value.prefix
      }

      expiration {
        days = rule.value.days
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.this]
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([{
      Sid       = "OnlyOverTls"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.this.arn, "${aws_s3_bucket.this.arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }], var.statements)
  })

  depends_on = [aws_s3_bucket_public_access_block.this]
}
