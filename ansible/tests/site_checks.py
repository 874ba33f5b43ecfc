"""The boot test's checks of the site, CloudFront, the logs and the metrics."""
import json
import os

from surroundings import run

LOGS = "/everytab/machines"


def say(text):
    print("boot:", text, flush=True)


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def invalidated(world, distribution):
    """Returns the sorted paths of each invalidation that CloudFront got."""
    cloudfront = world.client("cloudfront")
    asked = cloudfront.list_invalidations(DistributionId=distribution)["InvalidationList"]
    batches = [cloudfront.get_invalidation(DistributionId=distribution, Id=one["Id"])[
        "Invalidation"]["InvalidationBatch"] for one in asked.get("Items", [])]
    return [sorted(batch["Paths"]["Items"]) for batch in batches]


def short_lived(world):
    """Returns the site's objects that caches keep for only a minute, because a new scan changes
    them."""
    s3, bucket = world.client("s3"), world.buckets[1]
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    kept = {key: s3.head_object(Bucket=bucket, Key=key).get("CacheControl", "") for key in keys}
    # Caches do not keep `no-store` objects, which are scans' tokens. Link pages may be a minute
    # older than the manifest. Only takedowns change landmarks.
    return [key for key in keys if "immutable" not in kept[key] and kept[key] != "no-store"
            and not key.startswith("t/") and not key.endswith("/map/landmarks.tsv")]


def check_cloud(world, distribution):
    # The first invalidation was for the month's key.
    key, *asked = invalidated(world, distribution)
    expect(len(asked) == 1, f"the site was invalidated once, not {len(asked)} times")
    missing = {"/", *("/" + key for key in short_lived(world))} - set(asked[0] + key)
    expect(not missing, f"CloudFront may go on showing the old {sorted(missing)}")
    expect(not [path for path in asked[0] if "*" in path or path.startswith("/scans/")],
           f"what never changes is not invalidated: {asked[0]}")
    logs = world.client("logs")
    streams = {one["logStreamName"] for one in logs.describe_log_streams(logGroupName=LOGS)["logStreams"]}
    expect({machine.name for machine in world.machines} == streams, f"a log of each machine: {streams}")
    lines = [one["message"] for name in streams for one in logs.get_log_events(
        logGroupName=LOGS, logStreamName=name, startFromHead=True, limit=10000)["events"]]
    for words in ("everytab-worker.service: ", "everytab-start.service: ", "metrics: everytab_"):
        expect(any(line.startswith(words) for line in lines), f"no line of the logs has {words}")
    say(f"{len(lines)} lines of {len(streams)} machines' journals and metrics are in CloudWatch's logs")
    metrics = {one["MetricName"] for one in world.client("cloudwatch").list_metrics(
        Namespace="EveryTab")["Metrics"]}
    # Whether these two metrics exist depends on the moment.
    expect(metrics - {"HoursSinceEnd", "UnreachedPercent"} == {
        "Watching", "Outstanding", "Discarded", "MinutesSinceProgress", "MinutesStuck", "ScanHours",
        "Workers"}, metrics)
    say(f"CloudFront was told to forget {len(asked[0])} paths, CloudWatch has {', '.join(sorted(metrics))}")


def check_headers(world):
    s3, bucket = world.client("s3"), world.buckets[1]
    manifest = json.loads(s3.get_object(Bucket=bucket, Key="manifest.json")["Body"].read())
    script = s3.list_objects_v2(Bucket=bucket, Prefix="js/")["Contents"][0]["Key"]
    year = "public, max-age=31536000, immutable"
    minute = "public, max-age=60, must-revalidate"
    for key, kind, keep in (("index.html", "text/html; charset=utf-8", minute),
                            ("manifest.json", "application/json", minute),
                            (script, "text/javascript; charset=utf-8", year),
                            (manifest["prefix"] + "tabs/0.json", "application/json", year)):
        head = s3.head_object(Bucket=bucket, Key=key)
        found = (head["ContentType"], head["CacheControl"])
        expect(found == (kind, keep), f"{key}: {found}")
    say("types and lifetimes of the objects are as they should be")


def publish_again(world, publish, distribution):
    """Publishes again, as docs/scan.md says. Only changed objects may be uploaded."""
    log = os.path.join(world.folder, "moto.log")
    before, asked = os.path.getsize(log), len(invalidated(world, distribution))
    publish()
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(before)
        lines = file.read().splitlines()
    # "PUT /manifest.json?x-id=PutObject HTTP/1.1" 200
    put = sorted({line.split('"PUT ')[1].split("?")[0].split(" ")[0] for line in lines
                  if '"PUT /' in line})
    # security.txt contains its expiry date.
    expect(put == ["/.well-known/security.txt", "/history.json", "/manifest.json", "/stats.json"],
           f"uploaded again: {put}")
    after = invalidated(world, distribution)
    expect(len(after) == asked + 1 and after[-1] in after[:-1], f"the same paths invalidated: {after}")
    say("publishing again uploaded history, manifest, stats and security.txt, and nothing else")


def published(world):
    """Returns the bundles and search files in the site's bucket, by their names below the scan's
    prefix."""
    s3, bucket = world.client("s3"), world.buckets[1]
    read = lambda key: s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    manifest = json.loads(read("manifest.json"))
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=manifest["prefix"])
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    parts = (manifest["prefix"] + "tabs/", manifest["prefix"] + "search/")
    return {key.removeprefix(manifest["prefix"]): read(key) for key in keys if key.startswith(parts)}


def reference(world, program):
    """Returns the same files from a scan on one host without faults, with the operators' program,
    because it has `local`."""
    folder = os.path.join(world.work, "reference")
    os.makedirs(folder, mode=0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    run(program, "local", "--sample", "--sample-hosts", world.hosts, "--sample-seed", 1, "--workers",
        1, "--dir", folder, "--exit-when-done", env=clean | {"EVERYTAB_INSTANCE_METADATA": "off"})
    with open(folder + "/site/manifest.json", encoding="utf-8") as file:
        prefix = os.path.join(folder, "site", json.load(file)["prefix"])
    found = {}
    for part in ("tabs", "search"):
        for place, _, files in os.walk(prefix + part):
            for name in files:
                path = os.path.join(place, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, prefix)] = file.read()
    return found


def compare(ours, theirs):
    expect(ours.keys() == theirs.keys(), f"other files: {sorted(ours.keys() ^ theirs.keys())[:5]}")
    other = [name for name in ours if ours[name] != theirs[name]]
    expect(not other, f"other bytes: {other[:5]}")
    say(f"{len(ours)} bundles and search files are those of one undisturbed machine, byte for byte")


def tabs(found):
    return {tab["url"]: json.dumps(tab, sort_keys=True) for name, body in found.items()
            if name.startswith("tabs/") for tab in json.loads(body)["entries"]}


def hosts_of(found):
    return {url.split("/")[2] for url in tabs(found)}


def read_json(world, key):
    body = world.client("s3").get_object(Bucket=world.buckets[1], Key=key)["Body"].read()
    return json.loads(body)


def read_text(world, bucket, key):
    return world.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()
