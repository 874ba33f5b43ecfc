resource "aws_cloudfront_origin_access_control" "site" {
  name                              = "${var.name}-site"
  description                       = "Signs every request to the site's bucket"
  origin_access_control_origin_type = "s3"
  signing_behavior                  = "always"
  signing_protocol                  = "sigv4"
}

# CloudFront obeys each object's Cache-Control (a minute for the manifest, a year for bundles).
# With a minimum TTL of 0 it would not cache compressed responses.
resource "aws_cloudfront_cache_policy" "site" {
  name        = "${var.name}-site"
  comment     = "As the objects' Cache-Control says, in Brotli or gzip"
  min_ttl     = 1
  default_ttl = 60
  max_ttl     = 31536000

  parameters_in_cache_key_and_forwarded_to_origin {
    enable_accept_encoding_brotli = true
    enable_accept_encoding_gzip   = true

    cookies_config {
      cookie_behavior = "none"
    }

    headers_config {
      header_behavior = "none"
    }

    query_strings_config {
      query_string_behavior = "none"
    }
  }
}

resource "aws_cloudfront_response_headers_policy" "site" {
  #checkov:skip=CKV_AWS_259:browsers remember this header, so the operator raises hsts_seconds step by step
  name    = "${var.name}-site"
  comment = "The page's own policy as headers, so that it holds before a byte of the page is read"

  security_headers_config {
    content_security_policy {
      content_security_policy = local.content_security_policy
      override                = true
    }

    content_type_options {
      override = true
    }

    frame_options {
      frame_option = "DENY"
      override     = true
    }

    referrer_policy {
      referrer_policy = "no-referrer"
      override        = true
    }

    strict_transport_security {
      access_control_max_age_sec = var.hsts_seconds
      include_subdomains         = var.hsts_subdomains
      override                   = true
      preload                    = false
    }
  }

  custom_headers_config {
    items {
      header   = "Permissions-Policy"
      override = true
      value    = "camera=(), display-capture=(), fullscreen=(), geolocation=(), hid=(), local-network-access=(), microphone=(), payment=(), serial=(), usb=()"
    }

    items {
      header   = "Cross-Origin-Opener-Policy"
      override = true
      value    = "same-origin"
    }
  }
}

locals {
  # The policy in site/index.html (a test compares them), plus frame-ancestors, because no page
  # may frame this one.
  content_security_policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; frame-src https:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors 'none'"
}

resource "aws_cloudfront_distribution" "site" {
  #checkov:skip=CKV_AWS_86:aws_cloudwatch_log_delivery (logs.tf) delivers access logs, which this check does not know
  #checkov:skip=CKV_AWS_68:static files need no firewall, which would cost five dollars a month
  #checkov:skip=CKV2_AWS_47:the firewall rule protects a Java library that static files do not use
  #checkov:skip=CKV_AWS_310:a second origin would contain the same bytes, and S3 already stores them in several zones
  #checkov:skip=CKV_AWS_374:the site is for every country
  #checkov:skip=CKV_AWS_174:CloudFront's own certificate has no configurable minimum, and with a domain it is TLS 1.2
  #checkov:skip=CKV2_AWS_42:a custom certificate needs a domain, which is optional
  enabled             = true
  comment             = "${var.name}: a tab for every website"
  default_root_object = "index.html"
  http_version        = "http2and3"
  is_ipv6_enabled     = true
  price_class         = var.price_class
  aliases             = local.has_domain ? [var.domain_name] : []

  origin {
    origin_id                = "site"
    domain_name              = module.site.domain_name
    origin_access_control_id = aws_cloudfront_origin_access_control.site.id
  }

  default_cache_behavior {
    target_origin_id           = "site"
    allowed_methods            = ["GET", "HEAD"]
    cached_methods             = ["GET", "HEAD"]
    viewer_protocol_policy     = "redirect-to-https"
    compress                   = true
    cache_policy_id            = aws_cloudfront_cache_policy.site.id
    response_headers_policy_id = aws_cloudfront_response_headers_policy.site.id
  }

  # Without the permission to list, S3 responds with 403 for a missing object, which the next
  # scan may add.
  custom_error_response {
    error_code            = 403
    response_code         = 404
    response_page_path    = "/404.html"
    error_caching_min_ttl = 10
  }

  restrictions {
    geo_restriction {
      restriction_type = "none"
    }
  }

  viewer_certificate {
    cloudfront_default_certificate = !local.has_domain
    acm_certificate_arn            = local.has_domain ? aws_acm_certificate_validation.site[0].certificate_arn : null
    ssl_support_method             = local.has_domain ? "sni-only" : null
    minimum_protocol_version       = local.has_domain ? "TLSv1.2_2021" : null
  }
}
