"""Compares the rights that terraform's policies give the roles with those that they used."""
from . import policies


def used(record):
    """Returns the actions and the resources in each role's calls, by statement."""
    found = {}
    for entry in record:
        for sid in entry.sids:
            found.setdefault((entry.role, sid), set()).add((entry.action, entry.resource))
    return found


def missing(record):
    return sorted({(entry.role, entry.action, entry.resource)
                   for entry in record if not entry.sids})


def unused(roles, record):
    """Returns (role, statement, action or resource) for each right that no call has used."""
    calls = used(record)
    for role, statements in sorted(roles.items()):
        for statement in statements:
            seen = calls.get((role, statement["Sid"]), set())
            for action in policies.listed(statement.get("Action", [])):
                if not any(policies.matches(action, one, True) for one, _ in seen):
                    yield role, statement["Sid"], action
            for resource in policies.listed(statement.get("Resource", [])):
                if seen and not any(policies.matches(resource, one) for _, one in seen):
                    yield role, statement["Sid"], resource


def faults(roles, record, reasons):
    """Returns a line for each difference. `reasons` has a sentence for each right that may be
    unused."""
    for role, action, resource in missing(record):
        yield f"{role} lacks {action} on {resource}"
    left = dict(reasons)
    for role, sid, what in unused(roles, record):
        if left.pop(f"{role} {sid} {what}", None) is None:
            yield f"{role} never used {what} of {sid}; take it away, or give a reason in rights.json"
    for name in left:
        yield f"rights.json has a reason for {name}, which was used or does not exist"


def table(roles, record):
    counted = {}
    for entry in record:
        for sid in entry.sids:
            place = (entry.role, sid, entry.action)
            counted[place] = counted.get(place, 0) + 1
    width = max((len(" ".join(place)) for place in counted), default=0)
    for place, number in sorted(counted.items()):
        yield f"{' '.join(place):{width}}  {number}"
    for role, sid, what in unused(roles, record):
        yield f"{role + ' ' + sid + ' ' + what:{width}}  never"
