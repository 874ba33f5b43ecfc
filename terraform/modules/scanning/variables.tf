# The root module, the only caller, validates the values.

variable "name" {
  description = "Prefix of all names. Two installations in one account need different prefixes."
  type        = string
}

variable "region" {
  description = "Region of all resources. Common Crawl's bucket is in us-east-1, and CloudFront's certificate and log delivery must be there, too."
  type        = string
}

variable "crawl" {
  description = "The crawl to scan, such as CC-MAIN-2026-05, or latest."
  type        = string
}

variable "host_limit" {
  description = "Maximum number of hosts. Null for the whole crawl."
  type        = number
}

variable "site_url" {
  description = "Address of the site. Null for the distribution's own."
  type        = string
}

variable "contact" {
  description = "Mail address of a person who answers webmasters."
  type        = string
}

variable "archive_rate" {
  description = "Maximum requests per second to Common Crawl's bucket, for all workers together. Null for the program's default."
  type        = number
}

variable "site_address" {
  description = "Address under which the distribution serves the site."
  type        = string
}

variable "stop_after_hours" {
  description = "Hours without progress, or without counts, after which the fleet is stopped."
  type        = number
}

variable "worker_count" {
  description = "Number of workers while scanning. They leave by themselves when the scan has ended."
  type        = number
}

variable "architecture" {
  description = "Processor architecture of the workers. The image must be built for it."
  type        = string
}

variable "instance_types" {
  description = "At least 4 instance types for the fleet, so that one has spot capacity, all with the same number of cores. Null for a default list for the architecture."
  type        = list(string)
}

variable "on_demand_base" {
  description = "Number of workers that are always on demand. on_demand_percentage applies to the others."
  type        = number
}

variable "on_demand_percentage" {
  description = "Percentage of the workers beyond on_demand_base that are on demand. The others are spot instances."
  type        = number
}

variable "requests_in_flight" {
  description = "Maximum number of icon requests in flight per worker."
  type        = number
}

variable "root_volume_gb" {
  description = "Disk of a worker in GB: the image and the shards in progress."
  type        = number
}

variable "network_cidr" {
  description = "Address range of the scan's network."
  type        = string
}

variable "database_instance_class" {
  description = "Instance class of Postgres. 2 cores and 8 GB suffice for 30 million hosts."
  type        = string
}

variable "database_version" {
  description = "Major version of Postgres. The image's pg_dump (Debian 13) can back up 17 and earlier versions."
  type        = string
}

variable "database_storage_gb" {
  description = "Initial storage of Postgres in GB. It grows automatically."
  type        = number
}

variable "database_storage_limit_gb" {
  description = "Maximum storage of Postgres in GB."
  type        = number
}

variable "ami_id" {
  description = "Image of the workers."
  type        = string

  validation {
    condition     = can(regex("^ami-([0-9a-f]{8}|[0-9a-f]{17})$", var.ami_id))
    error_message = "Expected an id such as ami-0123456789abcdef0."
  }
}

variable "site_bucket" {
  description = "Name of the site's bucket."
  type        = string
}

variable "kept_bucket" {
  description = "Name of the private bucket that outlives the scan."
  type        = string
}

variable "distribution_id" {
  description = "CloudFront distribution to invalidate."
  type        = string
}

variable "alerts_topic_arn" {
  description = "Topic to which alarms are published."
  type        = string
}

variable "console" {
  description = "Whether the console exists."
  type        = bool
}

variable "console_instance_type" {
  description = "Instance type of the console. Null for a default."
  type        = string
}

variable "console_volume_gb" {
  description = "Disk of the console in GB."
  type        = number
}

variable "stop_when" {
  description = "When Postgres and the console are stopped: published, backed-up or never."
  type        = string
}

variable "migrate_running_scan" {
  description = "True: the console migrates the schema although a scan is running."
  type        = bool
}

variable "machine_logs" {
  description = "Log group of the machines."
  type        = string
}

variable "signing_secret_arn" {
  description = "Secret with the key that signs requests."
  type        = string
}
