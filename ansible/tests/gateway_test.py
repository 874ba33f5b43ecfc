#!/usr/bin/env python3
"""Tests the boot test's gateway to AWS: gateway_test.py MOTO_SERVER CERTIFICATE KEY

boto3 sends the requests, and moto is behind the gateway.
"""
import http.client
import json
import socket
import ssl
import subprocess
import sys
import time
import unittest

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from aws import calls, gateway, policies, rights

READER = [
    {"Sid": "Read", "Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"],
     "Resource": "arn:aws:s3:::site/scans/*"},
    {"Sid": "Count", "Effect": "Allow", "Action": "cloudwatch:PutMetricData", "Resource": "*",
     "Condition": {"StringEquals": {"cloudwatch:namespace": "EveryTab"}}},
]
LISTER = READER + [{"Sid": "List", "Effect": "Allow", "Action": "s3:ListBucket",
                    "Resource": "arn:aws:s3:::site"}]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class World:
    account = gateway.Account()

    @classmethod
    def start(cls, moto, certificate, key):
        behind = ("127.0.0.1", free_port())
        cls.certificate = certificate
        cls.moto = subprocess.Popen([moto, "-H", behind[0], "-p", str(behind[1])],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.server = gateway.start(cls.account, ("127.0.0.1", 0), behind, certificate, key)
        for _ in range(300):
            try:
                socket.create_connection(behind, 1).close()
                break
            except OSError:
                time.sleep(0.1)
        cls.account.admit("READER", gateway.Principal("reader", "reader's token", READER))
        cls.account.admit("LISTER", gateway.Principal("lister", "lister's token", LISTER))
        cls.account.admit("INSIDE", gateway.Principal(
            "inside", "inside's token", LISTER, [{"Effect": "Allow", "Action": "s3:*",
                                                  "Resource": ["arn:aws:s3:::other/*"]}]))
        cls.client("s3", "test").create_bucket(Bucket="site")
        cls.client("s3", "test").put_object(Bucket="site", Key="index.html", Body=b"x")

    @classmethod
    def client(cls, service, key, token=None):
        return boto3.client(
            service, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key="secret",
            aws_session_token=token, verify=cls.certificate,
            endpoint_url=f"https://127.0.0.1:{cls.server.server_address[1]}",
            config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}))


def refusal(ask):
    try:
        ask()
    except ClientError as refused:
        return refused.response["Error"]["Code"]
    return None


class Rights(unittest.TestCase):
    def setUp(self):
        World.account.record.clear()
        self.reader = World.client("s3", "READER", "reader's token")

    def test_what_a_policy_allows_is_done_and_recorded(self):
        self.reader.put_object(Bucket="site", Key="scans/1/a b.json", Body=b"{}")
        read = self.reader.get_object(Bucket="site", Key="scans/1/a b.json")["Body"].read()
        self.assertEqual(read, b"{}")
        self.assertEqual([(one.action, one.sids) for one in World.account.record],
                         [("s3:PutObject", ("Read",)), ("s3:GetObject", ("Read",))])

    def test_what_no_statement_allows_is_refused_and_missing(self):
        self.assertEqual(refusal(lambda: self.reader.put_object(
            Bucket="site", Key="index.html", Body=b"")), "AccessDenied")
        self.assertEqual(rights.missing(World.account.record),
                         [("reader", "s3:PutObject", "arn:aws:s3:::site/index.html")])

    def test_a_key_without_its_session_is_nobody(self):
        for client in (World.client("s3", "READER"), World.client("s3", "READER", "another"),
                       World.client("s3", "STRANGER", "reader's token")):
            self.assertEqual(refusal(lambda client=client: client.get_object(
                Bucket="site", Key="scans/1/a b.json")), "AccessDenied")

    def test_a_missing_object_is_denied_to_who_may_not_list(self):
        ask = lambda client: refusal(lambda: client.get_object(Bucket="site", Key="scans/none"))
        self.assertEqual(ask(self.reader), "AccessDenied")
        self.assertEqual(ask(World.client("s3", "LISTER", "lister's token")), "NoSuchKey")

    def test_the_endpoint_of_the_network_must_allow_it_too(self):
        inside = World.client("s3", "INSIDE", "inside's token")
        self.assertEqual(refusal(lambda: inside.list_objects_v2(Bucket="site")), "AccessDenied")

    def test_each_object_of_a_batch_is_judged(self):
        lister = World.client("s3", "LISTER", "lister's token")
        self.assertEqual(refusal(lambda: lister.delete_objects(
            Bucket="site", Delete={"Objects": [{"Key": "scans/1/x"}]})), "AccessDenied")
        self.assertEqual(World.account.record[-1].action, "s3:DeleteObject")

    def test_conditions_decide(self):
        for namespace, said in (("EveryTab", None), ("Other", "AccessDenied")):
            metrics = World.client("cloudwatch", "READER", "reader's token")
            self.assertEqual(refusal(lambda namespace=namespace, metrics=metrics:
                                     metrics.put_metric_data(Namespace=namespace, MetricData=[
                                         {"MetricName": "A", "Value": 1}])), said)

    def test_secrets_are_named_by_the_request(self):
        secrets = World.client("secretsmanager", "READER", "reader's token")
        arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:owner"
        self.assertEqual(refusal(lambda: secrets.get_secret_value(SecretId=arn)),
                         "AccessDeniedException")
        self.assertEqual(World.account.record[-1][1:3], ("secretsmanager:GetSecretValue", arn))

    def test_a_role_is_taken_by_whom_it_trusts(self):
        lesser = gateway.Role("lesser", READER, [
            {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:role/taker"},
             "Action": "sts:AssumeRole"}])
        World.account.roles[lesser.arn] = lesser
        may = [{"Sid": "Take", "Effect": "Allow", "Action": "sts:AssumeRole", "Resource": lesser.arn}]
        for name, statements, refused in (("taker", may, None), ("other", may, "AccessDenied"),
                                          ("taker", [], "AccessDenied")):
            made = World.account.session(gateway.Role(name, statements, []), "test")
            sts = World.client("sts", made["AccessKeyId"], made["Token"])
            take = lambda sts=sts: sts.assume_role(RoleArn=lesser.arn, RoleSessionName="m-1")
            self.assertEqual(refusal(take), refused)
            if refused is None:
                got = take()["Credentials"]
                s3 = World.client("s3", got["AccessKeyId"], got["SessionToken"])
                s3.put_object(Bucket="site", Key="scans/1/taken", Body=b"")
                self.assertEqual(World.account.record[-1].role, "lesser")

    def test_a_bucket_has_a_favicon_of_its_own(self):
        headers = {"Host": "site.s3.amazonaws.com",
                   "Authorization": f"AWS4 Credential={gateway.OPERATOR}/20260101/us-east-1/s3/aws4_request"}
        said = []
        for method, body in (("PUT", b"icon"), ("GET", None)):
            connection = http.client.HTTPSConnection(
                "127.0.0.1", World.server.server_address[1], timeout=30,
                context=ssl.create_default_context(cafile=World.certificate))
            connection.request(method, "/favicon.ico", body, headers)
            answer = connection.getresponse()
            said.append((answer.status, answer.read()))
            connection.close()
        self.assertEqual([status for status, _ in said] + [said[1][1]], [200, 200, b"icon"])

    def test_a_storm_ends_after_so_many_calls(self):
        World.account.storm("s3:GetObject", "arn:aws:s3:::site/*", 503, "SlowDown", 2)
        ask = lambda: refusal(lambda: self.reader.get_object(Bucket="site", Key="scans/1/a b.json"))
        self.reader.put_object(Bucket="site", Key="scans/1/a b.json", Body=b"{}")
        self.assertEqual([ask(), ask(), ask()], ["SlowDown", "SlowDown", None])


class Policies(unittest.TestCase):
    def test_patterns_are_those_of_iam(self):
        for pattern, value, holds in (
                ("arn:aws:s3:::a/*", "arn:aws:s3:::a/b/c", True), ("a?c", "abc", True),
                ("arn:aws:s3:::a/*", "arn:aws:s3:::ab/c", False), ("[ab]", "a", False),
                ("[ab]", "[ab]", True), ("a", "A", False)):
            self.assertEqual(policies.matches(pattern, value), holds, (pattern, value))

    def test_a_denial_wins(self):
        allow = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        deny = {"Effect": "Deny", "Action": "s3:Delete*", "Resource": "*"}
        self.assertTrue(policies.decide([allow, deny], "s3:GetObject", "x", {})[0])
        self.assertFalse(policies.decide([allow, deny], "s3:DeleteObject", "x", {})[0])
        self.assertFalse(policies.decide([], "s3:GetObject", "x", {})[0])

    def test_what_is_not_known_is_an_error(self):
        for statement in ({"Effect": "Allow", "Action": "*", "NotPrincipal": "x"},
                          {"Effect": "Allow", "Action": "*", "Resource": "*",
                           "Condition": {"DateLessThan": {"aws:CurrentTime": "2030"}}}):
            with self.assertRaises((ValueError, KeyError)):
                policies.decide([statement], "s3:GetObject", "x", {"aws:CurrentTime": "2029"})


class Comparison(unittest.TestCase):
    record = [gateway.Entry("reader", "s3:GetObject", "arn:aws:s3:::site/scans/1", ("Read",))]

    def test_unused_rights_are_faults_without_a_reason(self):
        found = list(rights.faults({"reader": READER}, self.record, {}))
        self.assertEqual(len(found), 2, found)
        self.assertIn("reader never used s3:PutObject of Read", found[0])

    def test_reasons_hold_for_what_they_name_only(self):
        reasons = {"reader Read s3:PutObject": "in another test",
                   "reader Count cloudwatch:PutMetricData": "not asked here",
                   "reader Read s3:GetObject": "wrong: it was used"}
        self.assertEqual(list(rights.faults({"reader": READER}, self.record, reasons)), [
            "rights.json has a reason for reader Read s3:GetObject, which was used or does not exist"])

    def test_refused_calls_are_faults(self):
        record = self.record + [gateway.Entry("reader", "s3:ListBucket", "arn:aws:s3:::site", ())]
        self.assertIn("reader lacks s3:ListBucket on arn:aws:s3:::site",
                      list(rights.faults({"reader": READER}, record, {})))


class Names(unittest.TestCase):
    def asked(self, method, host, target, body=b"", headers=None):
        path, _, query = target.partition("?")
        headers = headers or {}
        return [one[:2] for one in calls.of_request(
            calls.service_of(host, headers), method, host, path, query, headers, body)]

    def test_requests_have_the_names_of_their_rights(self):
        site, key = "site.s3.us-east-1.amazonaws.com", "arn:aws:s3:::site/a"
        for method, target, action, resource in (
                ("GET", "/a", "s3:GetObject", key), ("HEAD", "/a", "s3:GetObject", key),
                ("PUT", "/a?partNumber=1&uploadId=2", "s3:PutObject", key),
                ("POST", "/a?uploads", "s3:PutObject", key),
                ("DELETE", "/a?uploadId=2", "s3:AbortMultipartUpload", key),
                ("DELETE", "/a", "s3:DeleteObject", key),
                ("DELETE", "/a?versionId=2", "s3:DeleteObjectVersion", key),
                ("GET", "/?list-type=2&prefix=b", "s3:ListBucket", "arn:aws:s3:::site"),
                ("GET", "/?versions", "s3:ListBucketVersions", "arn:aws:s3:::site"),
                ("GET", "/?uploads", "s3:ListBucketMultipartUploads", "arn:aws:s3:::site")):
            self.assertEqual(self.asked(method, site, target), [(action, resource)], target)

    def test_a_copy_reads_too(self):
        self.assertEqual(
            self.asked("PUT", "site.s3.amazonaws.com", "/b", headers={"x-amz-copy-source": "/o/a%20b"}),
            [("s3:PutObject", "arn:aws:s3:::site/b"), ("s3:GetObject", "arn:aws:s3:::o/a b")])

    def test_other_services(self):
        form = b"Action=TerminateInstanceInAutoScalingGroup&InstanceId=i-1"
        self.assertEqual(self.asked("POST", "autoscaling.us-east-1.amazonaws.com", "/", form)[0][0],
                         "autoscaling:TerminateInstanceInAutoScalingGroup")
        self.assertEqual(
            self.asked("POST", "cloudfront.amazonaws.com", "/2020-05-31/distribution/E1/invalidation"),
            [("cloudfront:CreateInvalidation", "arn:aws:cloudfront::123456789012:distribution/E1")])
        target = {"x-amz-target": "Logs_20140328.PutLogEvents"}
        body = json.dumps({"logGroupName": "g", "logStreamName": "s"}).encode()
        self.assertEqual(self.asked("POST", "logs.us-east-1.amazonaws.com", "/", body, target), [
            ("logs:PutLogEvents", "arn:aws:logs:us-east-1:123456789012:log-group:g:log-stream:s")])
        with self.assertRaises(calls.Unknown):
            self.asked("GET", "ec2.us-east-1.amazonaws.com", "/")


if __name__ == "__main__":
    World.start(*sys.argv[1:4])
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        World.moto.terminate()
        World.moto.wait()
