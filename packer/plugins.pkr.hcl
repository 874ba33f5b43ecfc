# For packer 1.7 and later. Debian's 1.6 has built-in plugins, and gets this directory without
# this file (check.sh). Packer has no lock file, so each version here is exact.
packer {
  required_version = ">= 1.7"

  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "= 1.3.9"
    }
    ansible = {
      source  = "github.com/hashicorp/ansible"
      version = "= 1.1.4"
    }
  }
}
