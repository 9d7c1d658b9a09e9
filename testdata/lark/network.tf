# Network
terraform {
  required_version = ">= 1.5.0"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

variable "azs" {
  type        = list(string)
  description = "Availability zones, at least $${var.min} of them"
  default     = ["us-east-1a", "us-east-1b"]
}

locals {
  name   = "app-${terraform.workspace}"
  tags   = { Environment = var.env, "Owner" : "team-${lower(var.team)}", count = 1.5e3 }
  public = [for i, az in var.azs : cidrsubnet(var.cidr, 8, i) if az != ""]
  byzone = { for az in var.azs : az => upper(az)... }
}

/* the network
   itself */
resource "aws_vpc" "main" {
  cidr_block           = var.cidr
  enable_dns_hostnames = !false && (var.dns || length(var.azs) >= 2)
  tags                 = merge(local.tags, { Name = "${local.name}-vpc" })

  lifecycle {
    ignore_changes = [tags["Updated"], tags[*].x]
  }
}

resource "aws_subnet" "public" {
  count             = var.enabled ? length(var.azs) : 0
  vpc_id            = aws_vpc.main.id
  availability_zone = var.azs[count.index % 2]
  dynamic "setting" {
    for_each = var.settings
    content {
      key   = setting.value["key"]
      value = "a \"quoted\" ${join(",", [for s in var.l : "${s}-${s.id}"])} end"
    }
  }
}

output "ids" {
  value = aws_subnet.public.*.id // splat
}
