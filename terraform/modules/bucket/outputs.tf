output "name" {
  description = "Name of the bucket. Available when its policy is set."
  value       = aws_s3_bucket.this.bucket

  depends_on = [aws_s3_bucket_policy.this]
}

output "arn" {
  description = "ARN of the bucket."
  value       = aws_s3_bucket.this.arn
}

output "domain_name" {
  description = "Regional domain name of the bucket, for use as an origin."
  value       = aws_s3_bucket.this.bucket_regional_domain_name
}
