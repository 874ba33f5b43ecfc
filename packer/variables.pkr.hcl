variable "architecture" {
  description = "Processor architecture of the image: arm64 or x86_64."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "Give arm64 or x86_64."
  }
}

variable "package" {
  description = "The Debian package from `make dist` for this architecture."
  type        = string

  validation {
    condition     = var.package != "" && regex_replace(var.package, "^.*[.]deb$", "") == ""
    error_message = "Give a .deb file."
  }

  # Check this here, because ansible would find it out only on a running instance.
  validation {
    condition     = fileexists(abspath(var.package))
    error_message = "File not found: make dist prints the package's name, which contains a digest of its content."
  }
}

variable "operator" {
  description = "The operators' program from `make dist` for this architecture (everytab-local-*), for the console."
  type        = string

  validation {
    condition     = fileexists(abspath(var.operator))
    error_message = "File not found: make dist writes the operators' program next to the package."
  }
}

variable "vpc_id" {
  description = "Network for the build. Empty for the account's default network, which hardened accounts do not have."
  type        = string
  default     = ""
}

variable "subnet_id" {
  description = "Public subnet in this network. Empty with the default network."
  type        = string
  default     = ""
}

variable "region" {
  description = "Region of the image."
  type        = string
  default     = "us-east-1"
}

variable "ssm_agent_url" {
  description = "URL of Systems Manager's agent, a Debian package for this architecture."
  type        = string
}

variable "ssm_agent_sha256" {
  description = "SHA-256 of this package, in hexadecimal."
  type        = string

  validation {
    condition     = var.ssm_agent_sha256 != "" && regex_replace(var.ssm_agent_sha256, "^[0-9a-f]{64}$", "") == ""
    error_message = "Give 64 hexadecimal digits."
  }
}

variable "rds_ca_url" {
  description = "URL of Amazon's certificate authorities for Postgres in the region."
  type        = string
  default     = "https://truststore.pki.rds.amazonaws.com/us-east-1/us-east-1-bundle.pem"
}

variable "rds_ca_sha256" {
  description = "SHA-256 of this file, in hexadecimal."
  type        = string

  validation {
    condition     = var.rds_ca_sha256 != "" && regex_replace(var.rds_ca_sha256, "^[0-9a-f]{64}$", "") == ""
    error_message = "Give 64 hexadecimal digits."
  }
}
