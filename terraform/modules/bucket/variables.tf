variable "bucket" {
  description = "Name of the bucket, globally unique."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "Expected 3 to 63 lower-case letters, digits and hyphens."
  }
}

variable "goes_with_its_objects" {
  description = "True: destroying the bucket deletes its objects. False: S3 refuses to destroy a bucket that is not empty."
  type        = bool
  default     = false
}

variable "keeps_versions" {
  description = "True: replaced and deleted objects are kept for 30 days."
  type        = bool
  default     = true
}

variable "expire" {
  description = "Expiry rules by name: a prefix, and the days after which its objects expire."
  type        = map(object({ prefix = string, days = number }))
  default     = {}

  validation {
    condition     = alltrue([for rule in values(var.expire) : rule.days >= 1])
    error_message = "Expected at least 1 day."
  }
}

variable "statements" {
  description = "Statements in the bucket policy, in addition to the one that requires TLS."
  type        = list(any)
  default     = []
}
