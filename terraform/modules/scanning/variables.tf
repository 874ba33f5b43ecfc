# The root module, the only caller, validates the values.

variable "name" {
  description = "Prefix of every name; two installations in one account need two."
  type        = string
}

variable "region" {
  description = "Region of everything. Common Crawl's bucket is in us-east-1, and so must be a certificate of CloudFront's and the delivery of its logs."
  type        = string
}

variable "crawl" {
  description = "The crawl to scan, such as CC-MAIN-2026-05, or latest."
  type        = string
}

variable "host_limit" {
  description = "Hosts wanted at most; null for all of the crawl."
  type        = number
}

variable "user_agent" {
  description = "User-Agent of the icon requests, which must name a page about the bot; null for the program's own."
  type        = string
}

variable "scan_hours_limit" {
  description = "Hours after which a scan that still runs raises an alarm."
  type        = number
}

variable "worker_count" {
  description = "Workers wanted while scanning. They leave by themselves when the scan is done."
  type        = number
}

variable "architecture" {
  description = "Processors of the workers, as the image was built for."
  type        = string
}

variable "instance_types" {
  description = "Instance types that the fleet may take, all of the same number of cores, at least 4 so that spot capacity is found; null for a good list of the architecture."
  type        = list(string)
}

variable "on_demand_base" {
  description = "Workers that are always on demand; the rest is as on_demand_percentage says."
  type        = number
}

variable "on_demand_percentage" {
  description = "Per cent of the workers beyond on_demand_base that are on demand; the others are spot instances."
  type        = number
}

variable "requests_in_flight" {
  description = "Icon requests in flight at most, of each worker."
  type        = number
}

variable "root_volume_gb" {
  description = "Disk of a worker in GB: the image and the shards in progress."
  type        = number
}

variable "network_cidr" {
  description = "Addresses of the scan's network."
  type        = string
}

variable "database_instance_class" {
  description = "Instance class of Postgres; 2 cores and 8 GB serve 30 million hosts."
  type        = string
}

variable "database_version" {
  description = "Major version of Postgres; the image's pg_dump, Debian 12's, backs up 15 and none later."
  type        = string
}

variable "database_storage_gb" {
  description = "Storage of Postgres in GB at first; it grows by itself."
  type        = number
}

variable "database_storage_limit_gb" {
  description = "Storage of Postgres in GB beyond which it does not grow."
  type        = number
}

variable "ami_id" {
  description = "Image of the workers."
  type        = string

  validation {
    condition     = can(regex("^ami-([0-9a-f]{8}|[0-9a-f]{17})$", var.ami_id))
    error_message = "Give an id such as ami-0123456789abcdef0."
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
  description = "Topic that alarms are published to."
  type        = string
}
