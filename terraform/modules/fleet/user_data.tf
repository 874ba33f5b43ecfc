# What cloud-init writes on each machine: the settings of its units, and what it starts. All have one image; the role
# of a machine is which of these it gets.

locals {
  cloud_config = {
    for name, machine in var.settings : name => {
      write_files = [for file, settings in machine.files : {
        path        = "/etc/everytab/${file}"
        owner       = settings.owner
        permissions = "0640"
        content     = join("", [for key, value in settings.values : "${key}=\"${value}\"\n"])
      }]
      runcmd = [for unit in machine.start : ["systemctl", "enable", "--now", "--no-block", unit]]
    }
  }
  user_data = {
    for name, config in local.cloud_config : name => base64encode("#cloud-config\n${yamlencode(config)}")
  }
}
