variable "architecture" {
  description = "Processors of the image: arm64 or x86_64."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "Give arm64 or x86_64."
  }
}

variable "package" {
  description = "The Debian package that `make dist` made for that architecture."
  type        = string

  validation {
    condition     = var.package != "" && regex_replace(var.package, "^.*[.]deb$", "") == ""
    error_message = "Give a .deb file."
  }

  # Check this before anything is started. Otherwise ansible would find it out on a running
  # instance.
  validation {
    condition     = fileexists(abspath(var.package))
    error_message = "File not found: make dist prints the package's name, which has the commit in it."
  }
}

variable "operator" {
  description = "The operators' program that `make dist` made for that architecture (everytab-local-*), for the console."
  type        = string

  validation {
    condition     = fileexists(abspath(var.operator))
    error_message = "File not found: make dist makes the operators' program beside the package."
  }
}

variable "vpc_id" {
  description = "Network to build in; empty for the account's default one, which hardened accounts do not have."
  type        = string
  default     = ""
}

variable "subnet_id" {
  description = "Public subnet of that network; empty with the default one."
  type        = string
  default     = ""
}

variable "region" {
  description = "Region of the image."
  type        = string
  default     = "us-east-1"
}

variable "ssm_agent_url" {
  description = "Systems Manager's agent, a Debian package of that architecture."
  type        = string
}

variable "ssm_agent_sha256" {
  description = "SHA-256 of that package, in hexadecimal."
  type        = string

  validation {
    condition     = var.ssm_agent_sha256 != "" && regex_replace(var.ssm_agent_sha256, "^[0-9a-f]{64}$", "") == ""
    error_message = "Give 64 hexadecimal digits."
  }
}

variable "rds_ca_url" {
  description = "Amazon's authorities for Postgres in the region."
  type        = string
  default     = "https://truststore.pki.rds.amazonaws.com/us-east-1/us-east-1-bundle.pem"
}

variable "rds_ca_sha256" {
  description = "SHA-256 of that file, in hexadecimal."
  type        = string

  validation {
    condition     = var.rds_ca_sha256 != "" && regex_replace(var.rds_ca_sha256, "^[0-9a-f]{64}$", "") == ""
    error_message = "Give 64 hexadecimal digits."
  }
}
