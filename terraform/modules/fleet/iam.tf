# The roles. Each machine has one of its own, and no program that reads a stranger's bytes holds it: a broker of
# another user takes a second role with it, which has less, and hands that role's credentials to the program.
# docs/decisions/0046-roles-apart.md and 0085-a-crawl-service.md say which role does what. Policies are JSON documents,
# so that plans and tests can read them.

locals {
  # What every machine needs: a shell by Systems Manager (no open port, no key; of AWS's managed policy
  # only what a session takes, which reads no parameter), its log, its counts.
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

# Machines.

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

resource "aws_iam_role_policy" "machine" {
  for_each = var.machines

  name = each.value.policy
  role = aws_iam_role.machine[each.key].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      local.of_every_machine,
      [for name, process in var.processes : {
        Sid      = "HandOnAnotherRole"
        Effect   = "Allow"
        Action   = "sts:AssumeRole"
        Resource = "arn:aws:iam::${local.account_id}:role/${var.name}-${name}"
      } if process.machine == each.key],
      [for one in each.value.statements : merge({ Effect = "Allow" }, one)],
    )
  })
}

resource "aws_iam_instance_profile" "machine" {
  for_each = var.machines

  name = "${var.name}-${each.key}"
  role = aws_iam_role.machine[each.key].name
}

# Their processes, which sign in to Postgres by token.

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

resource "aws_iam_role_policy" "process" {
  for_each = var.processes

  name = each.value.policy
  role = aws_iam_role.process[each.key].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid      = "SignInAs${title(trimprefix(each.value.user, "everytab_"))}"
        Effect   = "Allow"
        Action   = "rds-db:connect"
        Resource = "arn:aws:rds-db:${var.region}:${local.account_id}:dbuser:${aws_db_instance.this.resource_id}/${each.value.user}"
      }],
      [for one in each.value.statements : merge({ Effect = "Allow" }, one)],
    )
  })
}
