# The files that cloud-init writes on each machine, and the units that it starts. All machines
# have one image, and their settings determine their role.

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
