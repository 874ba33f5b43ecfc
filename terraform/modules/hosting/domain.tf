# The site's own domain, if it has one.

locals {
  has_domain = var.domain_name != null
}

resource "aws_acm_certificate" "site" {
  count = local.has_domain ? 1 : 0

  domain_name       = var.domain_name
  validation_method = "DNS"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_route53_record" "validation" {
  count = local.has_domain ? 1 : 0

  zone_id         = var.zone_id
  name            = one(aws_acm_certificate.site[0].domain_validation_options[*].resource_record_name)
  type            = one(aws_acm_certificate.site[0].domain_validation_options[*].resource_record_type)
  records         = aws_acm_certificate.site[0].domain_validation_options[*].resource_record_value
  ttl             = 300
  allow_overwrite = true
}

resource "aws_acm_certificate_validation" "site" {
  count = local.has_domain ? 1 : 0

  certificate_arn         = aws_acm_certificate.site[0].arn
  validation_record_fqdns = [aws_route53_record.validation[0].fqdn]
}

resource "aws_route53_record" "site" {
  #checkov:skip=CKV2_AWS_23:the record is an alias for this module's distribution
  for_each = local.has_domain ? toset(["A", "AAAA"]) : toset([])

  zone_id = var.zone_id
  name    = var.domain_name
  type    = each.value

  alias {
    name                   = aws_cloudfront_distribution.site.domain_name
    zone_id                = aws_cloudfront_distribution.site.hosted_zone_id
    evaluate_target_health = false
  }
}
