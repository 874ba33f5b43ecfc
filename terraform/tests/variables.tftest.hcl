# What may not be said, and is refused before anything is planned.

variables {
  ami_id = "ami-0123456789abcdef0"
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

run "a_user_agent_names_a_page" {
  command = plan
  variables {
    user_agent = "bot"
  }
  expect_failures = [var.user_agent]
}

run "a_user_agent_stays_within_its_quotes" {
  command = plan
  variables {
    user_agent = "bot https://example.com/\" EVERYTAB_ALLOW_RANGE=\"0.0.0.0/0"
  }
  expect_failures = [var.user_agent]
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
    user_agent           = "EveryTab/1.0 (+https://everytab.example.com/bot)"
    architecture         = "x86_64"
    domain_name          = "everytab.example.com"
    zone_id              = "Z0123456789ABCDEFGHIJ"
    alert_emails         = ["me@example.com"]
    on_demand_percentage = 100
  }
}
