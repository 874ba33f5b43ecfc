"""The AWS account after terraform's applies: moto's buckets, secrets, logs, distribution and group,
Postgres, and the roles that the gateway checks. Resources that an apply removes are removed here,
too.
"""
import json

from applied_state import AppliedState
from database import OWNER_PASSWORD


class Cloud:
    def __init__(self, world):
        self.world, self.applied = world, None
        self.roles = {}
        self.signing = self.distribution = self.secret = self.name = None

    def follow(self, state):
        """Updates the account to the state that terraform has applied."""
        before, self.applied = self.applied, AppliedState(state)
        self.buckets()
        self.hosting()
        had = before is not None and before.each("aws_db_instance")
        has = self.applied.each("aws_db_instance")
        if has and not had:
            self.begin()
        elif had and not has:
            self.end()
        self.applied.became(self.signing, self.distribution, self.secret)
        if has:
            self.group()
            self.roles |= {role.name: role for role in self.applied.roles()}
        self.world.account.roles = {role.arn: role for role in self.applied.roles()} if has else {}

    def buckets(self):
        s3 = self.world.client("s3")
        wanted = {one["bucket"] for one in self.applied.each("aws_s3_bucket")}
        there = {one["Name"] for one in s3.list_buckets()["Buckets"]} - {"commoncrawl"}
        for bucket in wanted - there:
            s3.create_bucket(Bucket=bucket)
        for one in self.applied.each("aws_s3_bucket_versioning"):
            status = one["versioning_configuration"][0]["status"]
            s3.put_bucket_versioning(Bucket=one["bucket"], VersioningConfiguration={"Status": status})
        for bucket in there - wanted:
            pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
            for key in [one["Key"] for page in pages for one in page.get("Contents", [])]:
                s3.delete_object(Bucket=bucket, Key=key)
            s3.delete_bucket(Bucket=bucket)

    def hosting(self):
        """Creates the resources that outlive scans. This happens once."""
        if self.distribution:
            return
        secret = self.applied.one("aws_secretsmanager_secret.signing")["name"]
        self.signing = self.world.client("secretsmanager").create_secret(Name=secret)["ARN"]
        for one in self.applied.each("aws_cloudwatch_log_group"):
            self.world.client("logs").create_log_group(logGroupName=one["name"])
        origin = {"Id": "site", "DomainName": self.world.buckets[1] + ".s3.amazonaws.com",
                  "S3OriginConfig": {"OriginAccessIdentity": ""}}
        made = self.world.client("cloudfront").create_distribution(DistributionConfig={
            "CallerReference": "boot", "Comment": "boot", "Enabled": True,
            "Origins": {"Quantity": 1, "Items": [origin]},
            "DefaultCacheBehavior": {"TargetOriginId": "site", "ViewerProtocolPolicy": "https-only"}})
        self.distribution = made["Distribution"]["Id"]

    def begin(self):
        self.secret = self.world.client("secretsmanager").create_secret(
            Name="owner", SecretString=json.dumps(
                {"username": "everytab_owner", "password": OWNER_PASSWORD}))["ARN"]
        self.world.start_database(self.applied.keepalives())
        ec2, name = self.world.client("ec2"), self.fleet()["name"]
        self.name = name
        image = ec2.describe_images()["Images"][0]["ImageId"]
        ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData={
            "ImageId": image, "InstanceType": "c7g.large"})
        self.world.client("autoscaling").create_auto_scaling_group(
            AutoScalingGroupName=name, MinSize=0, MaxSize=0, DesiredCapacity=0,
            AvailabilityZones=["us-east-1a"], LaunchTemplate={"LaunchTemplateName": name})

    def end(self):
        self.world.client("autoscaling").delete_auto_scaling_group(
            AutoScalingGroupName=self.name, ForceDelete=True)
        self.world.client("ec2").delete_launch_template(LaunchTemplateName=self.name)
        self.world.client("secretsmanager").delete_secret(
            SecretId=self.secret, ForceDeleteWithoutRecovery=True)
        self.world.stop_database()
        self.secret = None

    def fleet(self):
        return self.applied.only("aws_autoscaling_group")

    def group(self):
        """Sets the group's size. If the size follows a metric, this is the minimum."""
        fleet = self.fleet()
        size = fleet["desired_capacity"]
        self.world.client("autoscaling").update_auto_scaling_group(
            AutoScalingGroupName=fleet["name"], MaxSize=fleet["max_size"],
            DesiredCapacity=fleet["min_size"] if size is None else size)

    def instances(self):
        found = self.world.client("autoscaling").describe_auto_scaling_groups(
            AutoScalingGroupNames=[self.fleet()["name"]])["AutoScalingGroups"][0]
        return [one["InstanceId"] for one in found["Instances"]]
