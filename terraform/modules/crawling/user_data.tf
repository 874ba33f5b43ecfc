# The files that cloud-init writes on each machine, and the target that it starts. All machines
# have one image, and these settings determine a machine's role.

locals {
  database   = "${module.fleet.database.address}/everytab"
  proves_who = "sslmode=verify-full&sslrootcert=/etc/everytab/rds-ca.pem"
  store      = "s3://${module.pages.name}"
  user_agent = "EveryTabBot/1.0 (+${trimsuffix(coalesce(var.site_url, var.site_address), "/")}/bot.html; ${var.contact})"

  crawl_environment = {
    DATABASE_URL         = "postgres://everytab_worker@${local.database}?${local.proves_who}"
    PGPASSFILE           = "/run/everytab-crawl/pgpass"
    AWS_REGION           = var.region
    EVERYTAB_IN_FLIGHT   = tostring(var.requests_in_flight)
    EVERYTAB_USER_AGENT  = local.user_agent
    EVERYTAB_SIGNING_KEY = "/run/credentials/everytab-crawl.service/signing-key"
  }
  api_environment = {
    DATABASE_URL      = "postgres://everytab_api@${local.database}?${local.proves_who}"
    PGPASSFILE        = "/run/everytab-api/pgpass"
    AWS_REGION        = var.region
    EVERYTAB_API_TO   = local.store
    EVERYTAB_API_FROM = local.store
    # The service shows the crawlers' User-Agent to clients, because it identifies who requests
    # pages.
    EVERYTAB_USER_AGENT = local.user_agent
  }
  owner_environment = {
    DATABASE_URL          = "postgres://everytab_owner@${local.database}?${local.proves_who}"
    AWS_REGION            = var.region
    EVERYTAB_OWNER_SECRET = module.fleet.database.secret
    EVERYTAB_CRAWL_TO     = local.store
    EVERYTAB_TEMPORARY    = "/var/lib/everytab-console"
    # doctor checks that it names a contact.
    EVERYTAB_USER_AGENT = local.user_agent
  }
  group_environment = {
    AWS_REGION         = var.region
    EVERYTAB_FLEET     = local.fleet_name
    EVERYTAB_NAMESPACE = local.namespace
    EVERYTAB_LOGS      = var.machine_logs
    EVERYTAB_METRICS   = "127.0.0.1:9464"
  }
  token_environment = {
    for user in ["everytab_worker", "everytab_api"] : user => {
      AWS_REGION = var.region
      PGHOST     = module.fleet.database.host
      PGPORT     = module.fleet.database.port
      PGUSER     = user
    }
  }

  settings = {
    crawl-machine = {
      start = ["everytab-crawl.target"]
      files = {
        "crawl.env"       = { values = local.crawl_environment, owner = "root:everytab-crawl" }
        "broker.env"      = { values = { AWS_REGION = var.region, EVERYTAB_PROCESS_ROLE = module.fleet.process_roles["crawler"], EVERYTAB_SIGNING_SECRET = var.signing_secret_arn }, owner = "root:everytab-broker" }
        "crawl-token.env" = { values = local.token_environment["everytab_worker"], owner = "root:everytab-crawl" }
        "group.env"       = { values = local.group_environment, owner = "root:everytab-broker" }
      }
    }
    api-machine = {
      start = concat(["everytab-api.target"], var.api_domain == null ? [] : ["caddy.service"])
      files = merge(
        {
          "api.env"       = { values = local.api_environment, owner = "root:everytab-api" }
          "broker.env"    = { values = { AWS_REGION = var.region, EVERYTAB_PROCESS_ROLE = module.fleet.process_roles["api"] }, owner = "root:everytab-broker" }
          "api-token.env" = { values = local.token_environment["everytab_api"], owner = "root:everytab-api" }
          "group.env"     = { values = merge(local.group_environment, { EVERYTAB_API_LISTEN = "127.0.0.1:8088" }), owner = "root:everytab-broker" }
          # Addresses that are reached through the gateway to S3. The network's own addresses
          # are Postgres's.
          "api-fence.env" = { values = { EVERYTAB_POSTGRES_RANGES = var.network_cidr, EVERYTAB_STORE_RANGES = join(" ", module.fleet.s3_ranges) }, owner = "root:root" }
        },
        var.api_domain == null ? {} : {
          "proxy.env" = { values = { EVERYTAB_API_DOMAIN = var.api_domain, EVERYTAB_CONTACT = var.contact }, owner = "root:root" }
        },
      )
    }
    crawl-console = {
      start = ["everytab-crawl-console.target"]
      files = {
        "crawls.env" = { values = local.owner_environment, owner = "root:everytab-owner" }
        "group.env"  = { values = local.group_environment, owner = "root:everytab-broker" }
      }
    }
  }
}
