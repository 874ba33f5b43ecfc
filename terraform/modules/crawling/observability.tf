# A dashboard and alarms on AWS's metrics, on the console's counts (publish-crawl-counts) and on
# the HTTP service's readiness (publish-ready).

locals {
  counts = { for name in ["DueHosts", "DueHostsPerWorker", "LiveWorkers", "RunningCrawls", "UnheldSlots", "ApiReady"] :
    name => [local.namespace, name, "Fleet", local.fleet_name]
  }
  widgets = [
    { title = "Hosts that are due", metrics = [local.counts.DueHosts], stat = "Maximum" },
    { title = "Due hosts a crawler", metrics = [local.counts.DueHostsPerWorker], stat = "Maximum" },
    { title = "Crawlers", metrics = [["AWS/AutoScaling", "GroupInServiceInstances", "AutoScalingGroupName", local.fleet_name], [".", "GroupDesiredCapacity", ".", "."], local.counts.LiveWorkers], stat = "Average" },
    { title = "Crawls, slots without a holder", metrics = [local.counts.RunningCrawls, local.counts.UnheldSlots], stat = "Maximum" },
    { title = "The HTTP service is ready", metrics = [local.counts.ApiReady], stat = "Minimum" },
    { title = "Crawlers' processors", metrics = [["AWS/EC2", "CPUUtilization", "AutoScalingGroupName", local.fleet_name]], stat = "Average" },
    { title = "Crawlers' network, bytes", metrics = [["AWS/EC2", "NetworkIn", "AutoScalingGroupName", local.fleet_name], [".", "NetworkOut", ".", "."]], stat = "Sum" },
    { title = "Postgres: processor, credits", metrics = [["AWS/RDS", "CPUUtilization", "DBInstanceIdentifier", local.service], [".", "CPUCreditBalance", ".", "."]], stat = "Average" },
    { title = "Postgres: free storage, bytes", metrics = [["AWS/RDS", "FreeStorageSpace", "DBInstanceIdentifier", local.service]], stat = "Minimum" },
    { title = "Packets dropped by the network card's allowances", metrics = [[local.namespace, "ConntrackAllowanceExceeded", "Fleet", local.fleet_name], [".", "PpsAllowanceExceeded", ".", "."], [".", "LinklocalAllowanceExceeded", ".", "."]], stat = "Sum" },
  ]
}

locals {
  # Without counts the service is blind, and its group keeps its size.
  alarms = merge(
    {
      due-hosts-high = {
        description = "Each crawler has had three times its share of due hosts for half an hour: the group is at crawl_workers_max, or there is no spot capacity."
        namespace   = local.namespace
        metric      = "DueHostsPerWorker"
        comparison  = "GreaterThanThreshold"
        statistic   = "Minimum"
        threshold   = 3 * var.hosts_per_worker
        periods     = 6
      }
      no-live-workers = {
        description = "No crawler has been seen for ten minutes, or nothing publishes their number: see docs/crawl.md, \"A crawl service\"."
        namespace   = local.namespace
        metric      = "LiveWorkers"
        comparison  = "LessThanThreshold"
        statistic   = "Maximum"
        threshold   = 1
        periods     = 2
        missing     = "breaching"
      }
      unheld-slots = {
        description = "Crawls are open, and some slots have had no crawler for a quarter of an hour, so their sites wait."
        namespace   = local.namespace
        metric      = "UnheldSlots"
        comparison  = "GreaterThanThreshold"
        statistic   = "Minimum"
        threshold   = 0
        periods     = 3
      }
      database-cpu = {
        description = "Postgres has been busy for half an hour. Set a larger crawl_database_instance_class, or fewer crawlers."
        namespace   = "AWS/RDS"
        metric      = "CPUUtilization"
        comparison  = "GreaterThanThreshold"
        statistic   = "Average"
        threshold   = 80
        periods     = 6
      }
      database-storage = {
        description = "Postgres has less than 10 GB of free storage. It grows automatically, but at most once in six hours."
        namespace   = "AWS/RDS"
        metric      = "FreeStorageSpace"
        comparison  = "LessThanThreshold"
        statistic   = "Minimum"
        threshold   = 10 * 1024 * 1024 * 1024
        periods     = 2
      }
      database-connections = {
        description = "Postgres has more connections than 100 crawlers open. At 700 it rejects new ones."
        namespace   = "AWS/RDS"
        metric      = "DatabaseConnections"
        comparison  = "GreaterThanThreshold"
        statistic   = "Maximum"
        threshold   = 600
        periods     = 2
      }
    },
    var.api_machines == 0 ? {} : {
      api-down = {
        description = "A machine of the HTTP service could not serve for ten minutes, or none of them publishes that it can."
        namespace   = local.namespace
        metric      = "ApiReady"
        comparison  = "LessThanThreshold"
        statistic   = "Minimum"
        threshold   = 1
        periods     = 2
        missing     = "breaching"
      }
    },
  )
}
