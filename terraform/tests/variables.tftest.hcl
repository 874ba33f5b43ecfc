# These values must be rejected before anything is planned.

variables {
  ami_id       = "ami-0123456789abcdef0"
  contact      = "bot@everytab.org"
  alert_emails = ["me@example.com"]
}

run "workers_without_a_scan_are_refused" {
  command = plan
  variables {
    worker_count = 4
  }
  expect_failures = [var.worker_count]
}

run "a_scan_needs_an_image" {
  command = plan
  variables {
    scanning     = true
    worker_count = 1
    ami_id       = null
  }
  expect_failures = [var.ami_id]
}

run "half_a_worker_is_refused" {
  command = plan
  variables {
    scanning     = true
    worker_count = 1.5
  }
  expect_failures = [var.worker_count]
}

run "a_crawl_that_is_none_is_refused" {
  command = plan
  variables {
    crawl = "CC-MAIN-2026"
  }
  expect_failures = [var.crawl]
}

run "another_region_is_refused" {
  command = plan
  variables {
    region = "eu-central-1"
  }
  expect_failures = [var.region]
}

run "types_of_another_architecture_are_refused" {
  command = plan
  variables {
    architecture   = "x86_64"
    instance_types = ["c7a.large", "c7i.large", "c7g.large", "m7a.large"]
  }
  expect_failures = [var.instance_types]
}

run "three_types_are_too_few" {
  command = plan
  variables {
    instance_types = ["c7g.large", "c8g.large", "m7g.large", "m7g.large"]
  }
  expect_failures = [var.instance_types]
}

run "a_public_network_is_refused" {
  command = plan
  variables {
    network_cidr = "52.0.0.0/16"
  }
  expect_failures = [var.network_cidr]
}

run "a_tiny_network_is_refused" {
  command = plan
  variables {
    network_cidr = "10.0.0.0/24"
  }
  expect_failures = [var.network_cidr]
}

run "a_database_class_that_is_none_is_refused" {
  command = plan
  variables {
    database_instance_class = "db.t4g.larg"
  }
  expect_failures = [var.database_instance_class]
}

run "storage_that_cannot_grow_is_refused" {
  command = plan
  variables {
    database_storage_gb       = 400
    database_storage_limit_gb = 400
  }
  expect_failures = [var.database_storage_limit_gb]
}

run "a_domain_without_its_zone_is_refused" {
  command = plan
  variables {
    domain_name = "everytab.example.com"
  }
  expect_failures = [var.zone_id]
}

run "a_scan_needs_a_contact" {
  command = plan
  variables {
    scanning = true
    contact  = null
  }
  expect_failures = [var.contact]
}

run "a_reserved_name_is_no_address" {
  command = plan
  variables {
    site_url = "https://everytab.example/"
    contact  = "contact@everytab.example"
  }
  expect_failures = [var.site_url, var.contact]
}

run "a_site_stays_within_its_quotes" {
  command = plan
  variables {
    site_url = "https://everytab.org/\" EVERYTAB_ALLOW_RANGE=\"0.0.0.0/0"
  }
  expect_failures = [var.site_url]
}

run "alarms_need_a_reader" {
  command = plan
  variables {
    alert_emails = []
  }
  expect_failures = [var.alert_emails]
}

run "a_teardown_is_of_a_scan_that_is_off" {
  command = plan
  variables {
    scanning = true
    teardown = "CC-MAIN-2026-05"
  }
  expect_failures = [var.teardown]
}

run "common_crawl_is_not_run_over" {
  command = plan
  variables {
    archive_rate = 20000
  }
  expect_failures = [var.archive_rate]
}

run "a_console_of_another_architecture_is_refused" {
  command = plan
  variables {
    console_instance_type = "t3.medium"
  }
  expect_failures = [var.console_instance_type]
}

run "an_image_that_is_none_is_refused" {
  command = plan
  variables {
    ami_id = "ami-123"
  }
  expect_failures = [var.ami_id]
}

run "a_mail_address_has_an_at" {
  command = plan
  variables {
    alert_emails = ["me.example.com"]
  }
  expect_failures = [var.alert_emails]
}

run "a_name_fits_into_bucket_names" {
  command = plan
  variables {
    name = "Every_Tab"
  }
  expect_failures = [var.name]
}

run "everything_at_once_is_fine" {
  command = plan
  variables {
    scanning             = true
    worker_count         = 200
    crawl                = "CC-MAIN-2026-05"
    host_limit           = 1000
    site_url             = "https://everytab.org/"
    archive_rate         = 500
    domain_name          = "everytab.example.com"
    zone_id              = "Z0123456789ABCDEFGHIJ"
    alert_emails         = ["me@example.com"]
    on_demand_percentage = 100
  }
}

run "a_crawl_service_needs_an_image" {
  command = plan
  variables {
    crawling = true
  }
  expect_failures = [var.crawl_ami_id]
}

run "a_crawl_service_needs_a_contact" {
  command = plan
  variables {
    crawling     = true
    crawl_ami_id = "ami-0123456789abcdef0"
    contact      = null
  }
  expect_failures = [var.contact]
}

run "more_crawlers_at_least_than_at_most_are_refused" {
  command = plan
  variables {
    crawl_workers_min = 5
  }
  expect_failures = [var.crawl_workers_min]
}

run "a_group_of_crawlers_does_not_grow_from_nothing" {
  command = plan
  variables {
    crawl_workers_min = 0
  }
  expect_failures = [var.crawl_workers_min]
}

run "a_thousand_crawlers_are_refused" {
  command = plan
  variables {
    crawl_workers_max = 1000
  }
  expect_failures = [var.crawl_workers_max]
}

run "ten_hosts_a_crawler_are_refused" {
  command = plan
  variables {
    crawl_hosts_per_worker = 10
  }
  expect_failures = [var.crawl_hosts_per_worker]
}

run "a_teardown_is_of_a_crawl_service_that_is_off" {
  command = plan
  variables {
    crawling        = true
    crawl_ami_id    = "ami-0123456789abcdef0"
    teardown_crawls = "everytab-crawls"
  }
  expect_failures = [var.teardown_crawls]
}

run "two_machines_do_not_prove_one_name" {
  command = plan
  variables {
    api_machines = 2
    api_domain   = "crawls.example.com"
  }
  expect_failures = [var.api_domain]
}

run "nothing_is_open_without_a_proxy" {
  command = plan
  variables {
    api_open_to = ["0.0.0.0/0"]
  }
  expect_failures = [var.api_open_to]
}

run "a_door_is_a_network" {
  command = plan
  variables {
    api_domain  = "crawls.example.com"
    api_open_to = ["everybody"]
  }
  expect_failures = [var.api_open_to]
}

run "a_service_of_another_architecture_is_refused" {
  command = plan
  variables {
    api_instance_type = "t3.small"
  }
  expect_failures = [var.api_instance_type]
}

run "a_public_network_of_crawlers_is_refused" {
  command = plan
  variables {
    crawl_network_cidr = "52.0.0.0/16"
  }
  expect_failures = [var.crawl_network_cidr]
}

run "a_crawl_database_class_that_is_none_is_refused" {
  command = plan
  variables {
    crawl_database_instance_class = "db.t4g.larg"
  }
  expect_failures = [var.crawl_database_instance_class]
}

run "pages_are_kept_for_a_day_at_least" {
  command = plan
  variables {
    crawl_retention_days = 0
  }
  expect_failures = [var.crawl_retention_days]
}

run "a_crawl_service_that_does_not_crawl_is_fine" {
  command = plan
  variables {
    crawling          = true
    crawl_ami_id      = "ami-0123456789abcdef0"
    crawl_workers_min = 0
    crawl_workers_max = 0
    api_machines      = 0
  }
}
