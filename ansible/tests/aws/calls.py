"""Determines the rights that a request to AWS needs: its actions and resources, by IAM's names.

The names are those in AWS's service authorization reference.
"""
import json
import re
import xml.etree.ElementTree
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

ACCOUNT, REGION = "123456789012", "us-east-1"


class Call(NamedTuple):
    action: str
    resource: str
    context: dict


class Unknown(Exception):
    """This test does not know a request's action yet."""


def of_request(service, method, host, path, query, headers, body):
    if service == "s3":
        return s3_calls(method, host, path, query, headers, body)
    if service == "cloudfront":
        return cloudfront_calls(method, path)
    target = headers.get("x-amz-target", "")
    if target:
        return json_calls(service, target.rsplit(".", 1)[-1], json.loads(body or b"{}"))
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    form = form or {name: values[0] for name, values in parse_qs(query).items()}
    if "Action" not in form:
        raise Unknown(f"{method} {host}{path}")
    return form_calls(service, form)


def service_of(host, headers):
    """Returns the service in the signature's scope, or by the hostname if the request is not
    signed."""
    scope = re.search(r"Credential=[^/]+/[0-9]+/[^/]+/([a-z0-9-]+)/", headers.get("authorization", ""))
    name = scope[1] if scope else service_of_name(host)
    return {"monitoring": "cloudwatch"}.get(name, name)


def service_of_name(host):
    name = host.split(":")[0].removesuffix(".amazonaws.com")
    return "s3" if re.search(r"(^|\.)s3(\.[a-z0-9-]+)?$", name) else name.split(".")[0]


def s3_place(host, path):
    name = host.split(":")[0]
    bucket = ""
    if name.endswith(".amazonaws.com"):
        bucket = re.sub(r"(^|\.)s3(\.[a-z0-9-]+)?$", "", name.removesuffix(".amazonaws.com"))
    key = unquote(path.lstrip("/"))
    if not bucket:
        bucket, _, key = key.partition("/")
    return bucket, key


def s3_calls(method, host, path, query, headers, body):
    bucket, key = s3_place(host, path)
    asked = parse_qs(query, keep_blank_values=True)
    context = {"aws:SecureTransport": "true"}
    if "prefix" in asked:
        context["s3:prefix"] = asked["prefix"][0]
    at = lambda name: f"arn:aws:s3:::{bucket}" + (f"/{name}" if name else "")
    if not key and method == "POST" and "delete" in asked:
        return [Call(delete_action(version), at(name), context)
                for name, version in deleted(body)]
    calls = [Call("s3:" + s3_action(method, bool(key), asked), at(key), context)]
    if "x-amz-copy-source" in headers:
        source = unquote(headers["x-amz-copy-source"]).lstrip("/").split("?")[0]
        calls.append(Call("s3:GetObject", f"arn:aws:s3:::{source}", context))
    return calls


def delete_action(version):
    return "s3:DeleteObjectVersion" if version else "s3:DeleteObject"


def deleted(body):
    """Returns (key, version or nothing) for each object in a DeleteObjects request."""
    for one in xml.etree.ElementTree.fromstring(body).iter():
        if one.tag.rsplit("}", 1)[-1] == "Object":
            fields = {part.tag.rsplit("}", 1)[-1]: part.text for part in one}
            yield fields["Key"], fields.get("VersionId")


def s3_action(method, has_key, asked):
    if not has_key:
        for word, action in (("versions", "ListBucketVersions"), ("location", "GetBucketLocation"),
                             ("uploads", "ListBucketMultipartUploads"),
                             ("versioning", "GetBucketVersioning")):
            if word in asked:
                return action
        if method in ("GET", "HEAD"):
            return "ListBucket"
        raise Unknown(f"{method} of a bucket with {sorted(asked)}")
    upload = "uploadId" in asked
    version = "versionId" in asked
    known = {
        "GET": "ListMultipartUploadParts" if upload else
               "GetObjectVersion" if version else "GetObject",
        "HEAD": "GetObjectVersion" if version else "GetObject",
        "PUT": "PutObject",
        "POST": "PutObject",
        "DELETE": "AbortMultipartUpload" if upload else
                  "DeleteObjectVersion" if version else "DeleteObject",
    }
    return known[method]


def cloudfront_calls(method, path):
    """Returns the calls for CloudFront's REST paths: /2020-05-31/distribution/ID/invalidation[/ID].
    """
    found = re.fullmatch(r"/[0-9-]+/distribution/([A-Z0-9]+)(/invalidation(/[A-Z0-9]+)?)?/?", path)
    if not found:
        raise Unknown(f"cloudfront {method} {path}")
    resource = f"arn:aws:cloudfront::{ACCOUNT}:distribution/{found[1]}"
    if found[2] is None:
        return [Call("cloudfront:GetDistribution", resource, {})]
    action = "CreateInvalidation" if method == "POST" else \
        "GetInvalidation" if found[3] else "ListInvalidations"
    return [Call("cloudfront:" + action, resource, {})]


def json_calls(service, action, asked):
    name = f"{service}:{action}"
    arn = f"arn:aws:{service}:{REGION}:{ACCOUNT}:"
    if service == "secretsmanager":
        return [Call(name, asked.get("SecretId", "*"), {})]
    if service == "logs" and "logGroupName" in asked:
        stream = asked.get("logStreamName")
        group = f"{arn}log-group:{asked['logGroupName']}"
        return [Call(name, f"{group}:log-stream:{stream}" if stream else group, {})]
    if service == "ssm" and "Name" in asked:
        return [Call(name, f"{arn}parameter/{asked['Name'].lstrip('/')}", {})]
    return [Call(name, "*", {})]


def form_calls(service, form):
    """Returns the calls for services with a query protocol. The group's policy names a machine and
    its group."""
    action = f"{service}:{form['Action']}"
    if service == "cloudwatch":
        return [Call(action, "*", {"cloudwatch:namespace": form.get("Namespace", "")})]
    if service == "sts":
        return [Call(action, form.get("RoleArn", "*"), {})]
    if service == "autoscaling":
        group = form.get("AutoScalingGroupName", "everytab-workers")
        if form["Action"].startswith("Describe"):
            return [Call(action, "*", {})]
        return [Call(action, f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:autoScalingGroup:"
                             f"00000000-0000-0000-0000-000000000000:autoScalingGroupName/{group}", {})]
    return [Call(action, "*", {})]
