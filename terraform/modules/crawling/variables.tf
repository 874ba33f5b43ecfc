# The root module, the only caller, validates the values.

variable "name" {
  description = "Prefix of all names. Two installations in one account need different prefixes."
  type        = string
}

variable "region" {
  description = "Region of all resources."
  type        = string
}

variable "protected" {
  description = "True: neither Postgres nor the bucket can be destroyed."
  type        = bool
}

variable "retention_days" {
  description = "Days for which captured pages are kept. Null for forever."
  type        = number
}

variable "workers_min" {
  description = "Minimum number of crawlers."
  type        = number
}

variable "workers_max" {
  description = "Maximum number of crawlers."
  type        = number
}

variable "hosts_per_worker" {
  description = "Target number of due hosts per crawler, which determines the group's size."
  type        = number
}

variable "on_demand_base" {
  description = "Number of crawlers that are always on demand. The others are spot instances."
  type        = number
}

variable "ami_id" {
  description = "Image of the machines."
  type        = string
}

variable "architecture" {
  description = "Processor architecture of the machines. The image must be built for it."
  type        = string
}

variable "instance_types" {
  description = "Instance types of the crawlers, all with the same number of cores. Null for a default list for the architecture."
  type        = list(string)
}

variable "requests_in_flight" {
  description = "Maximum number of requests in flight per crawler."
  type        = number
}

variable "root_volume_gb" {
  description = "Disk of a machine in GB."
  type        = number
}

variable "network_cidr" {
  description = "Address range of the service's network."
  type        = string
}

variable "api_machines" {
  description = "Number of machines for the HTTP service."
  type        = number
}

variable "api_instance_type" {
  description = "Instance type of the HTTP service. Null for the smallest."
  type        = string
}

variable "api_domain" {
  description = "Hostname under which Caddy serves the HTTP service. Null if the service listens only on loopback."
  type        = string
}

variable "api_open_to" {
  description = "Networks that may connect over HTTPS."
  type        = list(string)
}

variable "site_url" {
  description = "Address of the site, which every request contains. Null for the distribution's own."
  type        = string
}

variable "site_address" {
  description = "Address under which the distribution serves the site."
  type        = string
}

variable "contact" {
  description = "Mail address of a person who answers webmasters."
  type        = string
}

variable "database_instance_class" {
  description = "Instance class of Postgres."
  type        = string
}

variable "database_version" {
  description = "Major version of Postgres."
  type        = string
}

variable "database_multi_az" {
  description = "True: Postgres has a standby in another zone that takes over within minutes."
  type        = bool
}

variable "database_storage_gb" {
  description = "Initial storage of Postgres in GB. It grows automatically."
  type        = number
}

variable "database_storage_limit_gb" {
  description = "Maximum storage of Postgres in GB."
  type        = number
}

variable "alerts_topic_arn" {
  description = "Topic to which alarms are published."
  type        = string
}

variable "machine_logs" {
  description = "Log group of the machines."
  type        = string
}

variable "signing_secret_arn" {
  description = "Secret with the key that signs requests."
  type        = string
}
