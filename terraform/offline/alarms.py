"""Evaluates the alarms in an applied state like CloudWatch, minute by minute, with a simulated
fleet that obeys them. Tests which alarm fires in which case, and that a stopped fleet can be
started again.

The rules are those in AWS's documentation: if an alarm's last periods have no data, earlier periods
replace them, and any that are still missing count as treat_missing_data says. Actions happen when
the state changes, but an Auto Scaling group's policy is repeated each minute while the state lasts.
packaging/lib/publish-counts computes the counts.
"""
import importlib.machinery
import importlib.util
import os
from datetime import datetime, timedelta, timezone

GIB = 1024 ** 3
# Number of additional periods in which CloudWatch looks for missing data.
FURTHER_BACK = 2
COMPARISONS = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}
STATISTICS = {"Maximum": max, "Minimum": min, "Sum": sum, "SampleCount": len,
              "Average": lambda values: sum(values) / len(values)}
# Functions that our expressions use. None is a period without data.
FUNCTIONS = {"IF": lambda condition, one, other: one if condition else other,
             "FILL": lambda value, filled: filled if value is None else value}


def key_of(namespace, name, dimensions):
    return namespace, name, tuple(sorted(dimensions.items()))


class Metrics:
    def __init__(self):
        self.values = {}

    def put(self, key, minute, value):
        self.values.setdefault(key, {}).setdefault(minute, []).append(value)

    def period(self, key, first, minutes, statistic):
        """Returns the statistic for a period. None if nothing was published in it."""
        of_metric = self.values.get(key, {})
        found = [one for minute in range(first, first + minutes) for one in of_metric.get(minute, [])]
        return STATISTICS[statistic](found) if found else None


class Alarm:
    """An alarm in the state, which has been evaluated up to a minute."""

    def __init__(self, name, values):
        self.name, self.values, self.state = name, values, "INSUFFICIENT_DATA"
        self.periods = int(values["evaluation_periods"])
        self.needed = int(values.get("datapoints_to_alarm") or 0)
        self.needed = self.needed if 0 < self.needed < self.periods else self.periods
        self.threshold = float(values["threshold"])
        self.breaches = COMPARISONS[values["comparison_operator"]]
        self.queries = values.get("metric_query") or []
        asked = [query["metric"][0] for query in self.queries if query["metric"]] or [values]
        self.minutes = int(asked[0]["period"]) // 60
        assert all(int(one["period"]) == 60 * self.minutes for one in asked), name

    def datapoint(self, metrics, first):
        if not self.queries:
            one = self.values
            key = key_of(one["namespace"], one["metric_name"], one["dimensions"])
            return metrics.period(key, first, self.minutes, one["statistic"])
        known, result = {}, None
        for query in self.queries:
            if query["metric"]:
                one = query["metric"][0]
                key = key_of(one["namespace"], one["metric_name"], one["dimensions"])
                known[query["id"]] = metrics.period(key, first, self.minutes, one["stat"])
        for query in self.queries:
            if query["expression"] and query["return_data"]:
                # This evaluates only our own expressions, from terraform/.
                result = eval(query["expression"], {"__builtins__": {}}, {**FUNCTIONS, **known})
        return result

    def evaluate(self, metrics, minute):
        """Returns the new state, according to the periods that ended before `minute`."""
        end = minute - minute % self.minutes
        starts = [end - self.minutes * back for back in range(1, self.periods + FURTHER_BACK + 1)]
        points = [self.datapoint(metrics, start) for start in starts]
        real = [point for point in points if point is not None]
        missing = self.values["treat_missing_data"]
        if len(real) >= self.periods:
            judged = [self.breaches(point, self.threshold) for point in real[:self.periods]]
        elif missing in ("breaching", "notBreaching"):
            judged = [self.breaches(point, self.threshold) for point in real]
            judged += [missing == "breaching"] * (self.periods - len(real))
        elif missing == "ignore":
            return self.state
        else:
            return "INSUFFICIENT_DATA"
        return "ALARM" if sum(judged) >= self.needed else "OK"


class Account:
    """A state's alarms, and the group that they may stop."""

    def __init__(self, of):
        self.alarms = [Alarm(values["alarm_name"], values)
                       for _, values in of("aws_cloudwatch_metric_alarm")]
        self.stops = {values["arn"] for _, values in of("aws_autoscaling_policy")
                      if values["adjustment_type"] == "ExactCapacity"}
        (self.group,) = [values["name"] for _, values in of("aws_autoscaling_group")]
        (self.database,) = [values["identifier"] for _, values in of("aws_db_instance")]
        self.metrics, self.size, self.minute, self.mails = Metrics(), 0, 0, []

    def put(self, namespace, name, value):
        dimensions = {"AWS/RDS": {"DBInstanceIdentifier": self.database},
                      "AWS/AutoScaling": {"AutoScalingGroupName": self.group},
                      "EveryTab": {"Fleet": self.group}}[namespace]
        self.metrics.put(key_of(namespace, name, dimensions), self.minute, value)

    def tick(self):
        self.minute += 1
        for alarm in self.alarms:
            before, alarm.state = alarm.state, alarm.evaluate(self.metrics, self.minute)
            # A new alarm starts with insufficient data, so even OK is a change.
            if before != "OK" == alarm.state and alarm.values["ok_actions"]:
                self.mails.append((self.minute, f"{alarm.name} is OK"))
            if alarm.state != "ALARM":
                continue
            if before != "ALARM":
                self.mails.append((self.minute, alarm.name.split("-", 1)[1]))
            if self.stops & set(alarm.values["alarm_actions"]):
                self.size = 0


def publisher(folder):
    path = os.path.join(folder, "lib", "publish-counts")
    loader = importlib.machinery.SourceFileLoader("publish_counts", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("publish_counts", loader))
    loader.exec_module(module)
    return module


def former_counts(module):
    """Returns the counts as an earlier version computed them: only progress resets the minutes
    without it."""
    def counts(scan, memory):
        found, kept = module.counts(scan, memory)
        if "since" not in kept:
            return found, kept
        if memory.get("mark") == kept["mark"]:
            kept["since"] = memory["since"]
        now = datetime.fromisoformat(scan["now"]).timestamp()
        return {**found, "MinutesSinceProgress": int(now - kept["since"]) // 60}, kept
    return counts


class Fleet:
    """A scan and its machines, one minute at a time. Machines hold leases after three minutes. A
    job ends each minute, or each `every` minutes, or never while `stuck` is true."""

    BEGAN = datetime(2026, 5, 1, tzinfo=timezone.utc)

    def __init__(self, of, counts):
        self.account, self.counts, self.memory = Account(of), counts, {}
        self.size_before, self.up = 0, 0
        self.state, self.started, self.finished = None, None, None
        self.jobs, self.late, self.every = 1_000_000, 0, 1
        self.done, self.discarded, self.icons, self.lost = 0, 0, 0, 0
        self.stuck = self.watchless = self.cut_off = False
        self.free, self.surplus, self.failing = 80 * GIB, 0, 0

    def text(self, minute):
        return None if minute is None else (self.BEGAN + timedelta(minutes=minute)).isoformat()

    def status(self):
        left = self.jobs - self.done
        outstanding = 0 if self.finished is not None else left
        workers = [{"leases": 4}] * (self.account.size if self.holds() else 0)
        icons = max(0, outstanding - self.late)
        return {
            "scan": "a", "state": self.state, "now": self.text(self.account.minute),
            "started_at": self.text(self.started), "finished_at": self.text(self.finished),
            "workers": workers,
            "stages": [
                {"kind": "icon", "outstanding": icons, "done": self.done, "discarded": self.discarded,
                 "leased": min(icons, 4 * len(workers))},
                {"kind": "bundle-shard", "outstanding": icons, "done": 0, "discarded": 0, "leased": 0},
                {"kind": "map", "outstanding": min(self.late, outstanding), "done": 0, "discarded": 0,
                 "leased": 0}],
            "outcomes": {"icon": {"outcomes": {"ok": self.icons - self.lost, "dns_nxdomain": self.lost}}},
        }

    def holds(self):
        return self.up >= 3 and self.state == "running" and not self.cut_off

    def minute(self):
        account = self.account
        self.up = self.up + 1 if account.size else 0
        if self.holds() and not self.stuck and account.minute % self.every == 0:
            self.done += 1
            self.icons += 1000
            self.lost += 10 * (self.failing or 10)
        if account.size or self.size_before:
            account.put("AWS/AutoScaling", "GroupInServiceInstances", account.size)
        self.size_before = account.size
        if account.minute % 5 == 0:
            account.put("AWS/RDS", "CPUSurplusCreditBalance", self.surplus)
            account.put("AWS/RDS", "CPUCreditBalance", 0)
        account.put("AWS/RDS", "FreeStorageSpace", self.free)
        account.put("AWS/RDS", "DatabaseConnections", 50)
        if self.state and not self.watchless:
            found, self.memory = self.counts(self.status(), self.memory)
            for name, value in found.items():
                account.put("EveryTab", name, value)
        account.tick()

    def pass_minutes(self, minutes):
        for _ in range(minutes):
            self.minute()

    def begin(self, workers=8):
        """Starts the fleet as after an apply: the machines immediately, the console's scan some
        minutes later."""
        self.pass_minutes(2)
        self.account.size = workers
        self.pass_minutes(4)
        self.state, self.started = "running", self.account.minute
        self.pass_minutes(30)

    def end(self):
        self.state, self.finished = "finished", self.account.minute
        self.pass_minutes(2)
        self.account.size = 0

    def mailed(self, since=0):
        return [name for minute, name in self.account.mails if minute > since]


def fires(of, counts, expected, within, change):
    """Returns a fault unless `change` to a working fleet causes the mail `expected` within this
    many minutes, and no mail was sent before."""
    fleet = Fleet(of, counts)
    fleet.begin()
    before, began = fleet.mailed(), fleet.account.minute
    change(fleet)
    fleet.pass_minutes(within)
    if before or expected not in fleet.mailed(began):
        yield (f"{expected} is not mailed within {within} minutes, but {fleet.mailed(began)}; "
               f"before: {before}")


def rules(of, counts):
    def set_(**values):
        return lambda fleet: fleet.__dict__.update(values)

    def end(fleet):
        fleet.end()

    def discard(fleet):
        fleet.discarded = 1

    for expected, within, change in (
            ("ScanStalled", 5, set_(stuck=True)),
            ("IconsFail", 10, set_(failing=90)),
            # A small fleet completes fewer shards.
            ("IconsFail", 15, set_(failing=90, every=3)),
            # A retry removes its jobs' counts.
            ("IconsFail", 15, set_(failing=90, icons=0, lost=0)),
            ("DatabaseNearlyFull", 5, set_(free=9 * GIB)),
            ("ScanWithoutWorkers", 12, set_(cut_off=True)),
            ("NobodyWatches", 20, set_(watchless=True)),
            ("ScanEnded", 130, end),
            ("JobsDiscarded", 3, discard),
            ("ScanRunsLong", 60 * 48, set_()),
            ("database-credits", 15, set_(surplus=130)),
            ("idle-fleet", 45, set_(cut_off=True)),
            ("stopped-idle", 6 * 60 + 15, set_(cut_off=True)),
            ("stopped-without-progress", 6 * 60 + 15, set_(stuck=True))):
        yield from fires(of, counts, expected, within, change)


def quiet(of, counts):
    """Tests that a month without problems causes no mail. Credits are spent in advance at first,
    there is a pause of twenty minutes, the last shards are slow, the last stage has long jobs, and
    the console stops an hour after the end."""
    fleet = Fleet(of, counts)
    fleet.surplus = 40
    fleet.begin()
    fleet.pass_minutes(300)
    fleet.surplus = 0
    fleet.state = "paused"
    fleet.pass_minutes(20)
    fleet.state = "running"
    fleet.pass_minutes(100)
    for left, late in ((20, 0), (1, 1)):
        fleet.jobs, fleet.late, fleet.stuck = fleet.done + left, late, True
        fleet.pass_minutes(25)
        fleet.stuck = False
        fleet.pass_minutes(1)
    fleet.end()
    fleet.pass_minutes(62)
    fleet.watchless = True
    fleet.pass_minutes(600)
    if fleet.mailed():
        yield f"a month without trouble has mails: {fleet.account.mails}"


def recovers(of, counts):
    """Tests the recovery in the runbook: a pause for longer than stop_after_hours, then apply and
    resume. Then the same after stuck workers. Yields the faults."""
    fleet = Fleet(of, counts)
    fleet.begin()
    fleet.state = "paused"
    fleet.pass_minutes(7 * 60)
    if fleet.account.size != 0:
        yield "a scan that was paused for seven hours still has machines"
    fleet.account.size = 8
    fleet.pass_minutes(1)
    fleet.state = "running"
    fleet.pass_minutes(60)
    if fleet.account.size != 8:
        yield "paused, applied and resumed, the fleet is stopped again"
    done = fleet.done
    fleet.pass_minutes(60)
    if fleet.done == done:
        yield "after a pause nothing goes on"
    fleet.account.size, fleet.stuck = 8, True
    fleet.pass_minutes(7 * 60)
    if fleet.account.size != 0:
        yield "a fleet that was stuck for seven hours still has machines"
    fleet.stuck, fleet.account.size = False, 8
    fleet.pass_minutes(60)
    if fleet.account.size != 8:
        yield "stuck, mended and applied, the fleet is stopped again"
    fleet.end()
    fleet.pass_minutes(30)
    if fleet.account.size != 0:
        yield "the scan ended, and machines stay"


def faults(of, folder):
    module = publisher(folder)
    yield from quiet(of, module.counts)
    yield from rules(of, module.counts)
    yield from recovers(of, module.counts)
    if not any("stopped again" in fault for fault in recovers(of, former_counts(module))):
        yield "with the counts as they were once a stopped fleet recovers too: this shows nothing"
