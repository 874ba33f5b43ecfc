# The fleet's image: Debian, the worker, its resolver and units. User data names and starts the
# scan.

locals {
  debian = { arm64 = "arm64", x86_64 = "amd64" }
  cheap  = { arm64 = "t4g.small", x86_64 = "t3.small" }
  stamp  = formatdate("YYYYMMDD-hhmmss", timestamp())
}

source "amazon-ebs" "worker" {
  ami_name        = "everytab-worker-${var.architecture}-${local.stamp}"
  ami_description = "EveryTab worker"
  region          = var.region
  instance_type   = local.cheap[var.architecture]
  ssh_username    = "admin"
  ena_support     = true
  encrypt_boot    = true

  # SSH is open only during the build, and only from this host's address.
  vpc_id                      = var.vpc_id
  subnet_id                   = var.subnet_id
  associate_public_ip_address = true
  # packer>=1.7: begin
  temporary_security_group_source_public_ip = true
  # packer>=1.7: end

  source_ami_filter {
    # Debian's own account.
    owners      = ["136693071363"]
    most_recent = true
    filters = {
      name                = "debian-13-${local.debian[var.architecture]}-*"
      architecture        = var.architecture
      root-device-type    = "ebs"
      virtualization-type = "hvm"
    }
  }

  launch_block_device_mappings {
    device_name           = "/dev/xvda"
    volume_type           = "gp3"
    volume_size           = 8
    iops                  = 3000
    throughput            = 125
    delete_on_termination = true
  }

  # packer>=1.7: begin
  imds_support = "v2.0"

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  # packer>=1.7: end

  # terraform finds the newest image for an architecture by these tags.
  tags = {
    Name         = "everytab-worker"
    Project      = "everytab"
    Architecture = var.architecture
    Package      = basename(var.package)
  }
  snapshot_tags = {
    Name    = "everytab-worker"
    Project = "everytab"
  }
  run_tags = {
    Name    = "everytab-image"
    Project = "everytab"
  }
  run_volume_tags = {
    Name    = "everytab-image"
    Project = "everytab"
  }
}

build {
  sources = ["source.amazon-ebs.worker"]

  provisioner "shell" {
    inline = ["cloud-init status --wait", "sudo apt-get update -q"]
  }

  provisioner "ansible" {
    playbook_file = "${path.root}/../ansible/worker.yml"
    user          = "admin"
    use_proxy     = false
    extra_arguments = [
      "--become",
      "--extra-vars", "@${path.root}/image.yml",
      "--extra-vars", "worker_package=${abspath(var.package)} worker_operator_program=${abspath(var.operator)}",
      "--extra-vars", "base_ssm_agent_url=${var.ssm_agent_url} base_ssm_agent_sha256=${var.ssm_agent_sha256}",
      "--extra-vars", "worker_rds_ca_url=${var.rds_ca_url} worker_rds_ca_sha256=${var.rds_ca_sha256}",
    ]
    ansible_env_vars = ["ANSIBLE_CONFIG=${path.root}/../ansible/ansible.cfg"]
  }

  # These files must differ between machines.
  provisioner "shell" {
    inline = [
      "sudo apt-get clean",
      "sudo cloud-init clean --logs --seed --machine-id",
      "sudo rm -f /etc/ssh/ssh_host_* /root/.ssh/authorized_keys /home/admin/.ssh/authorized_keys",
      "sudo rm -rf /var/lib/everytab /var/cache/everytab-worker.deb /var/cache/amazon-ssm-agent.deb",
    ]
  }

  post-processor "manifest" {
    output = "${path.root}/manifest.json"
  }
}
