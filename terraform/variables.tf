variable "name" {
  description = "Prefix of all names. Two installations in one account need different prefixes."
  type        = string
  default     = "everytab"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "Expected 3 to 20 lower-case letters, digits and hyphens, starting with a letter."
  }
}

variable "region" {
  description = "Region of all resources. Common Crawl's bucket is in us-east-1, and CloudFront's certificate and log delivery must be there, too."
  type        = string
  default     = "us-east-1"

  validation {
    condition     = var.region == "us-east-1"
    error_message = "Expected us-east-1: the crawl is there, and reading it from another region costs more than the scan."
  }
}

# The phase.

variable "scanning" {
  description = "True creates everything that a scan needs and starts the scan. False removes all of this."
  type        = bool
  default     = false
  nullable    = false
}

variable "worker_count" {
  description = "Number of workers while scanning. They leave by themselves when the scan has ended."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.worker_count >= 0 && var.worker_count <= 200 && floor(var.worker_count) == var.worker_count
    error_message = "Expected a whole number from 0 to 200."
  }

  validation {
    condition     = var.scanning || var.worker_count == 0
    error_message = "Workers need a database: set scanning = true, or worker_count = 0."
  }

  validation {
    condition     = var.console || var.worker_count == 0
    error_message = "Workers need the console, which starts and publishes the scan: remove console = false."
  }
}

variable "crawl" {
  description = "The crawl to scan, such as CC-MAIN-2026-05, or latest."
  type        = string
  default     = "latest"

  validation {
    condition     = can(regex("^(latest|CC-MAIN-20[0-9]{2}-[0-5][0-9])$", var.crawl))
    error_message = "Expected latest or a crawl's id, such as CC-MAIN-2026-05."
  }
}

variable "host_limit" {
  description = "Maximum number of hosts. Null for the whole crawl."
  type        = number
  default     = null

  validation {
    condition     = var.host_limit == null ? true : var.host_limit >= 1 && floor(var.host_limit) == var.host_limit
    error_message = "Expected a whole number from 1, or null."
  }
}

variable "site_url" {
  description = "Address of the site, which the User-Agent of every request contains. Null for the address in the output site_address."
  type        = string
  default     = null

  validation {
    condition     = var.site_url == null ? true : can(regex("^https://[a-z0-9.-]+\\.[a-z]{2,}(/[A-Za-z0-9/._-]*)?$", var.site_url)) && !can(regex("\\.(example|invalid|test|localhost)(/|$)", var.site_url))
    error_message = "Expected a public https address, such as https://everytab.org/, without a reserved name such as everytab.example."
  }
}

variable "contact" {
  description = "Mail address of a person who answers webmasters. bot.html shows it, and every request contains it. Required while scanning or crawling."
  type        = string
  default     = null

  validation {
    condition     = var.contact == null ? true : can(regex("^[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+$", var.contact)) && !can(regex("\\.(example|invalid|test|localhost)$", var.contact))
    error_message = "Expected an existing mail address, such as bot@everytab.org, not at a reserved name."
  }

  validation {
    condition     = !var.scanning || var.contact != null
    error_message = "Scanning needs contact, because the owners of requested sites must be able to reach you."
  }

  validation {
    condition     = !var.crawling || var.contact != null
    error_message = "Crawling needs contact, because the owners of requested sites must be able to reach you."
  }
}

variable "archive_rate" {
  description = "Maximum requests per second to Common Crawl's bucket, for all workers together. Null for the program's default."
  type        = number
  default     = null

  validation {
    condition     = var.archive_rate == null ? true : var.archive_rate >= 1 && var.archive_rate <= 5000 && floor(var.archive_rate) == var.archive_rate
    error_message = "Expected 1 to 5000: Common Crawl can serve a few thousand requests per second to all its users together."
  }
}

variable "stop_after_hours" {
  description = "Hours after which a fleet without progress is stopped: no job has ended, or no counts were published."
  type        = number
  default     = 6

  validation {
    condition     = var.stop_after_hours >= 1 && var.stop_after_hours <= 24 && floor(var.stop_after_hours) == var.stop_after_hours
    error_message = "Expected 1 to 24 whole hours: an alarm evaluates at most a day."
  }
}

variable "teardown" {
  description = "Name of the scan that may be destroyed with scanning = false: the crawl with which it was started."
  type        = string
  default     = null

  validation {
    condition     = !(var.scanning && var.teardown != null)
    error_message = "teardown needs scanning = false."
  }
}

variable "migrate_running_scan" {
  description = "True: the console of a new image migrates the schema although a scan is running. Stop the workers first."
  type        = bool
  default     = false
  nullable    = false
}

# The console.

variable "console" {
  description = "True: a small machine for the operator exists while scanning. It starts and publishes the scan, and remains when the workers have left."
  type        = bool
  default     = true
  nullable    = false
}

variable "stop_when" {
  description = "When Postgres and the console are stopped: published (an hour after the scan ended, if it is published), backed-up (if there is also a backup of it below backups/ in the private bucket), or never."
  type        = string
  default     = "published"
  nullable    = false

  validation {
    condition     = contains(["published", "backed-up", "never"], var.stop_when)
    error_message = "Expected published, backed-up or never."
  }
}

variable "console_instance_type" {
  description = "Instance type of the console, with two cores. Null for the smallest on which Postgres fits while a backup is verified."
  type        = string
  default     = null

  validation {
    condition     = var.console_instance_type == null ? true : can(regex("^[a-z][a-z0-9-]*\\.(small|medium|large)$", var.console_instance_type)) && can(regex("^[a-z]+[0-9]+g[a-z]*\\.", var.console_instance_type)) == (var.architecture == "arm64")
    error_message = "Expected a type of the image's architecture, from small to large, such as t4g.medium."
  }
}

variable "console_volume_gb" {
  description = "Disk of the console in GB: for a backup's dump (about 15 GB for 30 million hosts), and for all rows while a backup is verified."
  type        = number
  default     = 120

  validation {
    condition     = var.console_volume_gb >= 20 && var.console_volume_gb <= 2000
    error_message = "Expected 20 to 2000 GB."
  }
}

# Workers.

variable "ami_id" {
  description = "Image of the workers, as packer printed it. Required while scanning."
  type        = string
  default     = null

  validation {
    condition     = var.ami_id == null ? true : can(regex("^ami-([0-9a-f]{8}|[0-9a-f]{17})$", var.ami_id))
    error_message = "Expected an id such as ami-0123456789abcdef0."
  }

  validation {
    condition     = !var.scanning || var.ami_id != null
    error_message = "Scanning needs ami_id: build an image with packer first."
  }
}

variable "architecture" {
  description = "Processor architecture of the workers. The image must be built for it."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "Expected arm64 or x86_64."
  }
}

variable "instance_types" {
  description = "At least 4 instance types for the fleet, so that one has spot capacity, all with the same number of cores. Null for a default list for the architecture."
  type        = list(string)
  default     = null

  validation {
    condition     = var.instance_types == null ? true : length(distinct(var.instance_types)) >= 4 && alltrue([for type in var.instance_types : can(regex("^[a-z][a-z0-9-]*\\.(medium|large|[0-9]*xlarge)$", type))])
    error_message = "Expected at least 4 different types, such as c7g.large."
  }

  validation {
    # The generation's letters end in g (with d, n, e after it) for Arm.
    condition     = var.instance_types == null ? true : alltrue([for type in var.instance_types : can(regex("^[a-z]+[0-9]+g[a-z]*\\.", type)) == (var.architecture == "arm64")])
    error_message = "The types have another architecture than the image."
  }
}

variable "on_demand_base" {
  description = "Number of workers that are always on demand. on_demand_percentage applies to the others."
  type        = number
  default     = 1

  validation {
    condition     = var.on_demand_base >= 0 && floor(var.on_demand_base) == var.on_demand_base
    error_message = "Expected a whole number from 0."
  }
}

variable "on_demand_percentage" {
  description = "Percentage of the workers beyond on_demand_base that are on demand. The others are spot instances."
  type        = number
  default     = 0

  validation {
    condition     = var.on_demand_percentage >= 0 && var.on_demand_percentage <= 100
    error_message = "Expected 0 to 100."
  }
}

variable "requests_in_flight" {
  description = "Maximum number of icon requests in flight per worker."
  type        = number
  default     = 2048

  validation {
    condition     = var.requests_in_flight >= 16 && var.requests_in_flight <= 16384
    error_message = "Expected 16 to 16384."
  }
}

variable "root_volume_gb" {
  description = "Disk of a worker in GB: the image and the shards in progress."
  type        = number
  default     = 16

  validation {
    condition     = var.root_volume_gb >= 8 && var.root_volume_gb <= 500
    error_message = "Expected 8 to 500 GB."
  }
}

variable "network_cidr" {
  description = "Address range of the scan's network."
  type        = string
  default     = "10.83.0.0/16"

  validation {
    condition     = can(cidrsubnet(var.network_cidr, 8, 2)) && can(regex("^(10\\.|192\\.168\\.|172\\.(1[6-9]|2[0-9]|3[01])\\.)", var.network_cidr)) && try(tonumber(split("/", var.network_cidr)[1]) <= 20, false)
    error_message = "Expected a private IPv4 range of /16 to /20, such as 10.83.0.0/16."
  }
}

# Postgres.

variable "database_instance_class" {
  description = "Instance class of Postgres. 2 cores and 8 GB suffice for 30 million hosts."
  type        = string
  default     = "db.t4g.large"

  validation {
    condition     = can(regex("^db\\.(t4g|m[678]gd?|m[67]i|r[678]gd?|r[67]i)\\.(medium|large|xlarge|2xlarge|4xlarge)$", var.database_instance_class))
    error_message = "Expected a class of the t4g, m6 to m8 or r6 to r8 families, from medium to 4xlarge, such as db.m7g.large."
  }
}

variable "database_version" {
  description = "Major version of Postgres. The image's pg_dump (Debian 13) can back up 17 and earlier versions."
  type        = string
  default     = "17"

  validation {
    condition     = contains(["15", "16", "17"], var.database_version)
    error_message = "Expected 15, 16 or 17."
  }
}

variable "database_storage_gb" {
  description = "Initial storage of Postgres in GB. It grows automatically."
  type        = number
  default     = 100

  validation {
    condition     = var.database_storage_gb >= 20 && var.database_storage_gb <= 1000
    error_message = "Expected 20 to 1000 GB."
  }
}

variable "database_storage_limit_gb" {
  description = "Maximum storage of Postgres in GB."
  type        = number
  default     = 400

  validation {
    condition     = var.database_storage_limit_gb >= 1.1 * var.database_storage_gb && var.database_storage_limit_gb <= 4000
    error_message = "Expected at least a tenth more than database_storage_gb, and at most 4000 GB."
  }
}

# A crawl service.

variable "crawling" {
  description = "True creates a crawl service: crawlers, an HTTP service, their Postgres and bucket. It is independent of scanning."
  type        = bool
  default     = false
  nullable    = false
}

variable "crawls_protected" {
  description = "True: neither Postgres nor the bucket of the crawl service can be destroyed. Apply with false before tearing the service down."
  type        = bool
  default     = true
  nullable    = false
}

variable "teardown_crawls" {
  description = "Name of the crawl service that may be destroyed with crawling = false: its database's name, such as everytab-crawls."
  type        = string
  default     = null

  validation {
    condition     = !(var.crawling && var.teardown_crawls != null)
    error_message = "teardown_crawls needs crawling = false."
  }
}

variable "crawl_ami_id" {
  description = "Image of the crawl service's machines, as packer printed it. Required while crawling."
  type        = string
  default     = null

  validation {
    condition     = var.crawl_ami_id == null ? true : can(regex("^ami-([0-9a-f]{8}|[0-9a-f]{17})$", var.crawl_ami_id))
    error_message = "Expected an id such as ami-0123456789abcdef0."
  }

  validation {
    condition     = !var.crawling || var.crawl_ami_id != null
    error_message = "Crawling needs crawl_ami_id: build an image with packer first."
  }
}

variable "crawl_workers_min" {
  description = "Minimum number of crawlers. 0, with crawl_workers_max = 0, while the database is migrated."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.crawl_workers_min >= 0 && var.crawl_workers_min <= var.crawl_workers_max && floor(var.crawl_workers_min) == var.crawl_workers_min
    error_message = "Expected a whole number from 0 to crawl_workers_max."
  }

  validation {
    condition     = var.crawl_workers_min >= 1 || var.crawl_workers_max == 0
    error_message = "An empty group does not grow before thousands of hosts are due: set 1, or stop the group with crawl_workers_max = 0."
  }
}

variable "crawl_workers_max" {
  description = "Maximum number of crawlers, which limits the service's cost."
  type        = number
  default     = 4
  nullable    = false

  validation {
    condition     = var.crawl_workers_max >= 0 && var.crawl_workers_max <= 100 && floor(var.crawl_workers_max) == var.crawl_workers_max
    error_message = "Expected a whole number from 0 to 100."
  }
}

variable "crawl_hosts_per_worker" {
  description = "Target number of due hosts per crawler, which determines the group's size (docs/cost.md)."
  type        = number
  default     = 2000
  nullable    = false

  validation {
    condition     = var.crawl_hosts_per_worker >= 100 && var.crawl_hosts_per_worker <= 50000
    error_message = "Expected 100 to 50000."
  }
}

variable "crawl_on_demand_base" {
  description = "Number of crawlers that are always on demand. The others are spot instances."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.crawl_on_demand_base >= 0 && floor(var.crawl_on_demand_base) == var.crawl_on_demand_base
    error_message = "Expected a whole number from 0."
  }
}

variable "crawl_retention_days" {
  description = "Days for which captured pages are kept. Null for forever."
  type        = number
  default     = null

  validation {
    condition     = var.crawl_retention_days == null ? true : var.crawl_retention_days >= 1 && floor(var.crawl_retention_days) == var.crawl_retention_days
    error_message = "Expected a whole number of days from 1, or null."
  }
}

variable "crawl_network_cidr" {
  description = "Address range of the crawl service's network."
  type        = string
  default     = "10.84.0.0/16"

  validation {
    condition     = can(cidrsubnet(var.crawl_network_cidr, 8, 2)) && can(regex("^(10\\.|192\\.168\\.|172\\.(1[6-9]|2[0-9]|3[01])\\.)", var.crawl_network_cidr)) && try(tonumber(split("/", var.crawl_network_cidr)[1]) <= 20, false)
    error_message = "Expected a private IPv4 range of /16 to /20, such as 10.84.0.0/16."
  }
}

variable "api_machines" {
  description = "Number of machines for the HTTP service. 0 if crawls are only started on the command line."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.api_machines >= 0 && var.api_machines <= 4 && floor(var.api_machines) == var.api_machines
    error_message = "Expected a whole number from 0 to 4."
  }
}

variable "api_instance_type" {
  description = "Instance type of the HTTP service. Null for the smallest type of the architecture."
  type        = string
  default     = null

  validation {
    condition     = var.api_instance_type == null ? true : can(regex("^[a-z][a-z0-9-]*\\.(small|medium|large|xlarge)$", var.api_instance_type)) && can(regex("^[a-z]+[0-9]+g[a-z]*\\.", var.api_instance_type)) == (var.architecture == "arm64")
    error_message = "Expected a type of the image's architecture, from small to xlarge, such as t4g.small."
  }
}

variable "api_domain" {
  description = "Hostname under which Caddy serves the HTTP service over TLS. Null if the service listens only on loopback."
  type        = string
  default     = null

  validation {
    condition     = var.api_domain == null ? true : can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.api_domain))
    error_message = "Expected a hostname in lower case, such as crawls.example.com."
  }

  validation {
    condition     = var.api_domain == null || var.api_machines == 1
    error_message = "Only one machine can get a certificate for the name: with api_domain set api_machines = 1, or set no domain and use your own load balancer."
  }
}

variable "api_open_to" {
  description = "Networks that may connect to the proxy over HTTPS. A certificate from Let's Encrypt needs [\"0.0.0.0/0\"]. None by default."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for network in var.api_open_to : can(cidrhost(network, 0))])
    error_message = "Expected networks such as 203.0.113.0/24."
  }

  validation {
    condition     = length(var.api_open_to) == 0 || var.api_domain != null
    error_message = "api_open_to needs api_domain, because otherwise no proxy listens."
  }
}

variable "crawl_database_instance_class" {
  description = "Instance class of the crawl service's Postgres. docs/cost.md lists which class suffices for how many pages per day."
  type        = string
  default     = "db.t4g.medium"

  validation {
    condition     = can(regex("^db\\.(t4g|m[678]gd?|m[67]i|r[678]gd?|r[67]i)\\.(medium|large|xlarge|2xlarge|4xlarge)$", var.crawl_database_instance_class))
    error_message = "Expected a class of the t4g, m6 to m8 or r6 to r8 families, from medium to 4xlarge, such as db.m7g.large."
  }
}

variable "crawl_database_multi_az" {
  description = "True: the crawl service's Postgres has a standby that takes over within minutes, for twice the price."
  type        = bool
  default     = false
  nullable    = false
}

variable "crawl_database_storage_gb" {
  description = "Initial storage of the crawl service's Postgres in GB. It grows automatically."
  type        = number
  default     = 100

  validation {
    condition     = var.crawl_database_storage_gb >= 20 && var.crawl_database_storage_gb <= 1000
    error_message = "Expected 20 to 1000 GB."
  }
}

variable "crawl_database_storage_limit_gb" {
  description = "Maximum storage of the crawl service's Postgres in GB."
  type        = number
  default     = 1000

  validation {
    condition     = var.crawl_database_storage_limit_gb >= 1.1 * var.crawl_database_storage_gb && var.crawl_database_storage_limit_gb <= 8000
    error_message = "Expected at least a tenth more than crawl_database_storage_gb, and at most 8000 GB."
  }
}

# Hosting.

variable "domain_name" {
  description = "Domain name of the site, such as everytab.example.com. Null for CloudFront's own name."
  type        = string
  default     = null

  validation {
    condition     = var.domain_name == null ? true : can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.domain_name))
    error_message = "Expected a hostname in lower case, such as everytab.example.com."
  }
}

variable "zone_id" {
  description = "Route 53 zone that contains domain_name."
  type        = string
  default     = null

  validation {
    condition     = var.zone_id == null ? true : can(regex("^Z[0-9A-Z]{5,31}$", var.zone_id))
    error_message = "Expected the id of a hosted zone, such as Z0123456789ABCDEFGHIJ."
  }

  validation {
    condition     = (var.zone_id == null) == (var.domain_name == null)
    error_message = "Set both domain_name and zone_id, or neither: the zone gets the site's name and the records that validate its certificate."
  }
}

variable "price_class" {
  description = "CloudFront's price class: PriceClass_100 (America, Europe), PriceClass_200 (most) or PriceClass_All."
  type        = string
  default     = "PriceClass_100"

  validation {
    condition     = contains(["PriceClass_100", "PriceClass_200", "PriceClass_All"], var.price_class)
    error_message = "Expected PriceClass_100, PriceClass_200 or PriceClass_All."
  }
}

variable "log_retention_days" {
  description = "Days for which the site's access logs and the machines' journals are kept."
  type        = number
  default     = 30

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365], var.log_retention_days)
    error_message = "Expected 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180 or 365 days, because CloudWatch offers only these."
  }
}

variable "backup_retention_days" {
  description = "Days for which objects below backups/ in the private bucket are kept."
  type        = number
  default     = 180

  validation {
    condition     = var.backup_retention_days >= 1 && var.backup_retention_days <= 3650
    error_message = "Expected 1 to 3650 days."
  }
}

variable "monthly_budget_usd" {
  description = "Monthly budget in dollars. Mails are sent at 50, 80 and 100 percent."
  type        = number
  default     = 100

  validation {
    condition     = var.monthly_budget_usd >= 1
    error_message = "Expected at least 1 dollar."
  }
}

variable "budget_by_tag" {
  description = "True: the budget counts only resources with the tag Project. Activate it as a cost allocation tag first, because otherwise the budget counts nothing."
  type        = bool
  default     = false
  nullable    = false
}

variable "alert_emails" {
  description = "Mail addresses for the budget and the alarms. Each must confirm once. There is no default, because without an address all warnings would be lost."
  type        = list(string)
  nullable    = false

  validation {
    condition     = alltrue([for address in var.alert_emails : can(regex("^[^@ ]+@[^@ ]+\\.[^@ ]+$", address))]) && length(var.alert_emails) >= 1 && length(var.alert_emails) <= 10
    error_message = "Expected 1 to 10 mail addresses."
  }
}

variable "hsts_seconds" {
  description = "Seconds for which browsers that have visited the site use only HTTPS: a day at first, then a month, and two years (63072000) if nothing broke."
  type        = number
  default     = 86400

  validation {
    condition     = var.hsts_seconds >= 0 && var.hsts_seconds <= 63072000
    error_message = "Expected 0 to 63072000 seconds."
  }
}

variable "hsts_subdomains" {
  description = "True: hsts_seconds also applies to every name below domain_name, on any server."
  type        = bool
  default     = false
  nullable    = false
}
