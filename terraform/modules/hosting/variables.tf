variable "name" {
  description = "Prefix of every name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "Give 3 to 20 lower-case letters, digits and hyphens, beginning with a letter."
  }
}

variable "domain_name" {
  description = "Domain name of the site; null for CloudFront's own."
  type        = string
  default     = null
}

variable "zone_id" {
  description = "Route 53 zone that holds the name; null without one."
  type        = string
  default     = null

  validation {
    condition     = (var.zone_id == null) == (var.domain_name == null)
    error_message = "domain_name and zone_id go together."
  }
}

variable "price_class" {
  description = "CloudFront's price class."
  type        = string

  validation {
    condition     = contains(["PriceClass_100", "PriceClass_200", "PriceClass_All"], var.price_class)
    error_message = "Give PriceClass_100, PriceClass_200 or PriceClass_All."
  }
}

variable "log_retention_days" {
  description = "Days for which access logs are kept."
  type        = number

  validation {
    condition     = var.log_retention_days >= 1
    error_message = "Give at least 1 day."
  }
}

variable "backup_retention_days" {
  description = "Days for which backups are kept."
  type        = number

  validation {
    condition     = var.backup_retention_days >= 1
    error_message = "Give at least 1 day."
  }
}

variable "monthly_budget_usd" {
  description = "Monthly budget in dollars."
  type        = number

  validation {
    condition     = var.monthly_budget_usd >= 1
    error_message = "Give at least 1 dollar."
  }
}

variable "budget_by_tag" {
  description = "Whether the budget counts only what carries the tag Project."
  type        = bool
}

variable "hsts_seconds" {
  description = "Seconds for which browsers keep to HTTPS."
  type        = number
}

variable "hsts_subdomains" {
  description = "Whether that holds for the names below the site's, too."
  type        = bool
}

variable "alert_emails" {
  description = "Mail addresses for the budget and the alarms."
  type        = list(string)

  validation {
    condition     = length(var.alert_emails) > 0
    error_message = "Without an address nobody hears of anything."
  }
}
