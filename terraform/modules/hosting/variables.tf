variable "name" {
  description = "Prefix of every name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "Expected 3 to 20 lower-case letters, digits and hyphens, starting with a letter."
  }
}

variable "domain_name" {
  description = "Domain name of the site. Null for CloudFront's own name."
  type        = string
  default     = null
}

variable "zone_id" {
  description = "Route 53 zone that contains the name. Null without a domain name."
  type        = string
  default     = null

  validation {
    condition     = (var.zone_id == null) == (var.domain_name == null)
    error_message = "Set both domain_name and zone_id, or neither."
  }
}

variable "price_class" {
  description = "CloudFront's price class."
  type        = string

  validation {
    condition     = contains(["PriceClass_100", "PriceClass_200", "PriceClass_All"], var.price_class)
    error_message = "Expected PriceClass_100, PriceClass_200 or PriceClass_All."
  }
}

variable "log_retention_days" {
  description = "Days for which access logs are kept."
  type        = number

  validation {
    condition     = var.log_retention_days >= 1
    error_message = "Expected at least 1 day."
  }
}

variable "backup_retention_days" {
  description = "Days for which backups are kept."
  type        = number

  validation {
    condition     = var.backup_retention_days >= 1
    error_message = "Expected at least 1 day."
  }
}

variable "monthly_budget_usd" {
  description = "Monthly budget in dollars."
  type        = number

  validation {
    condition     = var.monthly_budget_usd >= 1
    error_message = "Expected at least 1 dollar."
  }
}

variable "budget_by_tag" {
  description = "Whether the budget counts only resources with the tag Project."
  type        = bool
}

variable "hsts_seconds" {
  description = "Seconds for which browsers use only HTTPS."
  type        = number
}

variable "hsts_subdomains" {
  description = "Whether hsts_seconds also applies to the names below the site's."
  type        = bool
}

variable "alert_emails" {
  description = "Mail addresses for the budget and the alarms."
  type        = list(string)

  validation {
    condition     = length(var.alert_emails) > 0
    error_message = "Expected at least one address, because otherwise all warnings would be lost."
  }
}
