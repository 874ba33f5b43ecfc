"""The boot test's scan: its state in Postgres, its start, and its machines' group."""
from site_checks import expect, say
from surroundings import wait_for

FLEET = "everytab-workers"


def group(world):
    found = world.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[FLEET])
    return found["AutoScalingGroups"][0]


class Scan:
    def __init__(self, world):
        self.world = world

    def sql(self, statement):
        return self.world.sql(statement, "everytab", quietly=True)

    def state(self):
        return self.sql("select state from everytab.runs order by run desc limit 1")

    def ended(self, kind):
        return int(self.sql(f"select coalesce(sum(done), 0) from everytab.stages "
                            f"where kind = '{kind}'") or 0)

    def holds(self, machine):
        return self.sql("select 1 from everytab.jobs where state = 'leased' and worker_id like "
                        f"'{machine.name}%' limit 1") == "1"


def start(console, machines, scan):
    for machine in [*machines, console]:
        machine.start_target()
    wait_for("the scan", lambda: scan.state() == "running")
    # Every fault must happen before the first bundle is written.
    scan.sql("select coordinator.pause_run(1, 'bundle-shard', true)")
    scan.sql("select coordinator.pause_run(1, 'warc', true)")
    wait_for("the console's start", lambda: console.unit(
        "ActiveState", unit="everytab-start.service")["ActiveState"] == "active")
    for machine in [*machines, console]:
        wait_for(f"{machine.name}'s worker", lambda machine=machine: machine.worker_is("active"))
    expect(scan.sql("select count(*) from everytab.scans") == "1", "the console started one scan")
    say(f"{len(machines)} workers waited for the schema, and the console started the scan")
