"""The end of a month in the boot test, and a second month.

The second month starts with the site, the kept bucket and the logs of the first one. The image
changes in its middle.
"""
import os

from by_the_book import ROOT
from scan import Scan, start
from site_checks import expect, hosts_of, published, read_json, say
from surroundings import wait_for

MONTH = "A month, step by step"
CHANGE = "Another image in the middle of a scan"
CRAWL = "CC-MAIN-2026-09"
# The first line of this file is a comment.
REMARK = "coordinator-sql/functions/queue/kinds_that_need.sql"
SCHEMA = "select coordinator.schema_digest()"


def close(world, book, with_backup=lambda: None):
    """Performs a backup, its verification, gc, and a teardown. Calls `with_backup` when there is a
    backup."""
    for step in (10, 11):
        book.perform(MONTH, step)
    with_backup()
    manifest = read_json(world, "manifest.json")
    book.perform(MONTH, 12)
    book.console.power_off()
    world.cloud.follow(book.laptop.state())
    there = {one["Name"] for one in world.client("s3").list_buckets()["Buckets"]}
    expect(there == set(world.buckets) - {world.buckets[2]},
           f"only the archive went: {sorted(there)}")
    expect(read_json(world, "manifest.json") == manifest and hosts_of(published(world)),
           "the site is as it was")
    say(f"the teardown of {manifest['crawl']} left the site and the kept bucket")


def run_through(world, book, gone, arguments):
    """Runs the second month. The hosts in `gone` must not appear again."""
    first, shown = read_json(world, "manifest.json"), hosts_of(published(world))
    asked = len(world.asked_names())
    world.publish_crawl(CRAWL)
    os.remove(os.path.join(book.laptop.folder, "month.pem"))
    book.instead = {"CC-MAIN-2026-05": "latest", "backups/2026-05": "backups/2026-09",
                    "worker_count=8": "worker_count=1", "E2QWRUHAPOMQZL": world.cloud.distribution}
    book.perform("Signed requests")
    expect(any(CRAWL in said for said in book.perform(MONTH, 1)), f"the plan is that of {CRAWL}")
    listed = book.perform(MONTH, 2, by_hand=True)[-1]
    expect(all(any(covers(line, host) for line in listed.splitlines()) for host in gone),
           f"the takedown list has {gone}: {listed}")
    book.perform(MONTH, 3)
    world.cloud.follow(book.laptop.state())
    (instance,) = world.cloud.instances()
    worker, book.console = world.add_worker(instance), world.add_console()
    scan = Scan(world)
    start(book.console, [worker], scan)
    book.perform(MONTH, 5)
    worker = change_image(world, book, scan, worker, arguments)
    scan.sql("select coordinator.pause_run(1, 'bundle-shard', false)")
    scan.sql("select coordinator.pause_run(1, 'warc', false)")
    wait_for("the second scan's end", lambda: scan.state() not in ("running", "paused"))
    expect(scan.state() == "finished", f"the second scan ended as {scan.state()}")
    wait_for("the worker to leave", lambda: worker.worker_is("inactive"))
    worker.power_off()
    book.perform(MONTH, 9)
    second, history = read_json(world, "manifest.json"), read_json(world, "history.json")
    expect((second["crawl"], first["crawl"]) == (CRAWL, "CC-MAIN-2026-05"), f"the site shows {second}")
    expect(str(history).find(first["scan"]) >= 0 and str(history).find(second["scan"]) >= 0,
           f"both scans are in the history: {history}")
    expect(hosts_of(published(world)) == shown, "the same hosts have tabs in both months")
    again = gone & set(world.asked_names()[asked:])
    expect(not again, f"{again} are on the takedown list, and were asked")
    say(f"the second month's site shows {CRAWL} and {len(shown)} hosts, its history has both scans, and "
        f"{', '.join(sorted(gone))} stay away")
    close(world, book)
    kept = world.client("s3").list_objects_v2(Bucket=world.buckets[3], Prefix="backups/", Delimiter="/")
    expect([one["Prefix"] for one in kept["CommonPrefixes"]] == ["backups/2026-05/", "backups/2026-09/"],
           "both backups are kept")


def covers(line, host):
    suffix = line.removeprefix("suffix:")
    return host == line or suffix != line and ("." + host).endswith("." + suffix)


def change_image(world, book, scan, worker, arguments):
    """Changes the image while the scan runs, as docs/scan.md says. Returns a worker with the new
    image."""
    other = another_image(world, arguments)
    book.perform(CHANGE, 1)
    worker.leave_the_group()
    world.cloud.follow(book.laptop.state())
    wait_for("the worker to drain", lambda: worker.worker_is("inactive"))
    expect(worker.unit("ExecMainStatus")["ExecMainStatus"] == "4", "it drained")
    worker.power_off()
    expect(scan.sql("select count(*) from everytab.jobs where state = 'leased'") == "0", "no leases")
    book.perform(CHANGE, 2)
    book.console.power_off()
    world.cloud.follow(book.laptop.state())
    before = scan.sql(SCHEMA)
    (instance,) = world.cloud.instances()
    worker = world.add_worker(instance, other)
    worker.start_target()
    wait_for("a worker that the schema refuses", lambda: "schema" in worker.journal()
             and int(worker.unit("NRestarts")["NRestarts"]) > 0)
    expect(scan.sql(SCHEMA) == before, "a worker does not migrate")
    book.console = world.add_console(other)
    book.console.start_target()
    wait_for("the new console's start", lambda: book.console.unit(
        "ActiveState", unit="everytab-start.service")["ActiveState"] == "active")
    wait_for("the new worker", lambda: worker.worker_is("active"))
    expect(scan.sql("select count(*) from everytab.scans") == "1", "the scan goes on")
    expect(scan.sql(SCHEMA) != before, "the new console migrated")
    say("the image was changed in the middle of the scan: the new program's worker was refused until the "
        "new console had migrated")
    return worker


def another_image(world, arguments):
    """Returns the image with another program: the given one, or the same one with a different
    comment in an SQL function, so that its schema counts as different."""
    layer = os.path.join(world.work, "other")
    for path in ("/usr/bin/everytab-worker", "/usr/lib/everytab/operator/everytab-worker"):
        with open(arguments.other or arguments.root + path, "rb") as file:
            program = file.read()
        if not arguments.other:
            with open(os.path.join(ROOT, REMARK), "rb") as file:
                remark = file.readline()
            expect(remark in program, f"{path} holds {REMARK}")
            program = program.replace(remark, remark.swapcase())
        os.makedirs(os.path.dirname(layer + path), exist_ok=True)
        with open(layer + path, "wb") as file:
            file.write(program)
        os.chmod(layer + path, 0o755)
    return f"{layer}:{arguments.root}"
