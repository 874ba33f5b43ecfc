variable "bucket" {
  description = "Name of the bucket, unique in the world."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "Give 3 to 63 lower-case letters, digits and hyphens."
  }
}

variable "goes_with_its_objects" {
  description = "Whether destroying the bucket destroys what is in it; otherwise S3 refuses."
  type        = bool
  default     = false
}

variable "keeps_versions" {
  description = "Whether replaced and deleted objects are kept for 30 days."
  type        = bool
  default     = true
}

variable "expire" {
  description = "Which prefixes expire after how many days, by a name."
  type        = map(object({ prefix = string, days = number }))
  default     = {}

  validation {
    condition     = alltrue([for rule in values(var.expire) : rule.days >= 1])
    error_message = "Give at least 1 day."
  }
}

variable "statements" {
  description = "Statements of the bucket policy besides the one that wants TLS."
  type        = list(any)
  default     = []
}
