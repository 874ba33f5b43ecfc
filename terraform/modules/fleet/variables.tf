# The root module validates the values, before the modules scanning and crawling pass them on.

variable "name" {
  description = "Prefix of all names. Two installations in one account need different prefixes."
  type        = string
}

variable "service" {
  description = "Name of the network and of Postgres, and prefix of the alarms."
  type        = string
}

variable "region" {
  description = "Region of all resources."
  type        = string
}

variable "namespace" {
  description = "Namespace of our own metrics."
  type        = string
}

variable "network_cidr" {
  description = "Address range of the network."
  type        = string
}

variable "written" {
  description = "Action and Resource of the writes that the gateway to S3 allows."
  type        = object({ Action = list(string), Resource = any })
}

variable "other_groups" {
  description = "Security groups of machines that can reach only AWS and Postgres, by kind of machine."
  type        = map(object({ name = string, description = string }))
}

variable "workers" {
  description = "The machines that fetch: names and descriptions, role (a key of machines), image and disk."
  type = object({
    name              = string
    description       = string
    one               = string
    word              = string
    fetch             = string
    machine           = string
    group             = string
    group_description = string
    ami_id            = string
    architecture      = string
    instance_types    = list(string)
    volume_gb         = number
  })
}

variable "group" {
  description = "Their number, and how it changes. sized_by is the variable with which an operator lowers it."
  type = object({
    sized_by              = string
    min_size              = number
    max_size              = number
    desired_capacity      = optional(number)
    on_demand_base        = number
    on_demand_percentage  = number
    force_delete          = optional(bool)
    default_cooldown      = optional(number)
    warmup                = optional(number)
    max_instance_lifetime = optional(number)
    termination_policies  = list(string)
  })
}

variable "other_cores" {
  description = "On-demand cores of the machines other than the workers."
  type        = number
}

variable "database" {
  description = "Postgres."
  type = object({
    instance_class         = string
    version                = string
    storage_gb             = number
    storage_limit_gb       = number
    max_connections        = number
    multi_az               = optional(bool)
    backup_days            = number
    backup_window          = optional(string)
    backups_go_with_it     = bool
    protected              = bool
    group_description      = string
    parameters_description = string
    tags                   = map(string)
  })
}

variable "machines" {
  description = "Role of each kind of machine: description, name of its policy, statements in addition to every machine's."
  type        = any
}

variable "processes" {
  description = "Role that a machine's broker assumes: machine, description, name of its policy, Postgres user, statements."
  type        = any
}

variable "settings" {
  description = "Settings of cloud-init for each kind of machine: files (values and owner) and units to start."
  type        = any
}

variable "dashboard" {
  description = "Name and widgets of the dashboard."
  type        = object({ name = string, widgets = any })
}

variable "alarms" {
  description = "Alarms on Postgres's metrics and on our counts, in addition to every fleet's."
  type = map(object({
    description = string
    namespace   = string
    metric      = string
    comparison  = string
    statistic   = string
    threshold   = number
    periods     = number
    missing     = optional(string, "notBreaching")
  }))
}

variable "mails_when_well" {
  description = "True: an alarm also sends a mail when it is over, and immediately when it is created."
  type        = bool
}

variable "alerts_topic_arn" {
  description = "Topic to which alarms are published."
  type        = string
}

variable "machine_logs" {
  description = "Log group of the machines."
  type        = string
}
