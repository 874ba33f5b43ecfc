# Each machine has its own role, and no program that parses untrusted bytes has this role.
# Instead, a broker that runs as another user assumes a second role with fewer rights, and
# passes this role's credentials to the program (docs/decisions/0046-roles-apart.md). Policies
# are JSON documents, so that plans and tests can read them.

locals {
  # Rights of every machine: a shell through Systems Manager without an open port or key, its
  # log, and its counts. The session statements are those of AWS's managed policy.
  of_every_machine = [
    {
      Sid    = "SessionManager"
      Effect = "Allow"
      Action = [
        "ssm:UpdateInstanceInformation",
        "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
      ]
      Resource  = "*"
      Condition = { StringEquals = { "aws:RequestedRegion" = var.region } }
    },
    {
      Sid      = "WriteItsLog"
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource = "arn:aws:logs:${var.region}:${local.account_id}:log-group:${var.machine_logs}:log-stream:*"
    },
    {
      Sid       = "CountForTheDashboard"
      Effect    = "Allow"
      Action    = "cloudwatch:PutMetricData"
      Resource  = "*"
      Condition = { StringEquals = { "cloudwatch:namespace" = var.namespace } }
    },
  ]
}

resource "aws_iam_role" "machine" {
  for_each = var.machines

  name                 = "${var.name}-${each.key}"
  description          = each.value.description
  max_session_duration = 3600

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_instance_profile" "machine" {
  for_each = var.machines

  name = "${var.name}-${each.key}"
  role = aws_iam_role.machine[each.key].name
}

# The processes sign in to Postgres with tokens.

resource "aws_iam_role" "process" {
  for_each = var.processes

  name                 = "${var.name}-${each.key}"
  description          = each.value.description
  max_session_duration = 3600

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = aws_iam_role.machine[each.value.machine].arn }
      Action    = "sts:AssumeRole"
    }]
  })
}

# Each role has the rights of its kind, and its own.

locals {
  rights_of_kind = merge(
    {
      for machine, _ in var.machines : machine => concat(local.of_every_machine, [
        for name, process in var.processes : {
          Sid      = "HandOnAnotherRole"
          Effect   = "Allow"
          Action   = "sts:AssumeRole"
          Resource = "arn:aws:iam::${local.account_id}:role/${var.name}-${name}"
        } if process.machine == machine
      ])
    },
    {
      for name, process in var.processes : name => [{
        Sid      = "SignInAs${title(trimprefix(process.user, "everytab_"))}"
        Effect   = "Allow"
        Action   = "rds-db:connect"
        Resource = "arn:aws:rds-db:${var.region}:${local.account_id}:dbuser:${aws_db_instance.this.resource_id}/${process.user}"
      }]
    },
  )
}

resource "aws_iam_role_policy" "this" {
  for_each = merge(var.machines, var.processes)

  name = each.value.policy
  role = merge(aws_iam_role.machine, aws_iam_role.process)[each.key].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      local.rights_of_kind[each.key],
      [for one in each.value.statements : merge({ Effect = "Allow" }, one)],
    )
  })
}
