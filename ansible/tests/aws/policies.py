"""Evaluates IAM policies: which statement allows an action on a resource, and which denies it.

Supports only elements that this project's policies use. An unknown element is an error.
"""
import fnmatch
import re

OPERATORS = {
    "StringEquals": lambda value, wanted: value == wanted,
    "StringNotEquals": lambda value, wanted: value != wanted,
    "StringLike": lambda value, wanted: matches(wanted, value),
    "ArnEquals": lambda value, wanted: matches(wanted, value),
    "ArnLike": lambda value, wanted: matches(wanted, value),
    "Bool": lambda value, wanted: value == str(wanted).lower(),
}
KNOWN = {"Sid", "Effect", "Principal", "Action", "NotAction", "Resource", "NotResource", "Condition"}


def listed(value):
    return value if isinstance(value, list) else [value]


def matches(pattern, value, caseless=False):
    """Matches `*` and `?` like IAM. Brackets are literal."""
    escaped = pattern.replace("[", "[[]")
    flags = re.IGNORECASE if caseless else 0
    return re.match(fnmatch.translate(escaped), value, flags) is not None


def condition_holds(condition, context):
    for operator, pairs in condition.items():
        if_exists = operator.endswith("IfExists")
        compare = OPERATORS[operator.removesuffix("IfExists")]
        for key, wanted in pairs.items():
            if key not in context:
                if if_exists:
                    continue
                return False
            if not any(compare(context[key], one) for one in listed(wanted)):
                return False
    return True


def covers(statement, action, resource, context):
    unknown = statement.keys() - KNOWN
    if unknown:
        raise ValueError(f"a policy's statement has {sorted(unknown)}, which this test does not know")
    if "Action" in statement:
        if not any(matches(one, action, True) for one in listed(statement["Action"])):
            return False
    elif any(matches(one, action, True) for one in listed(statement["NotAction"])):
        return False
    if "Resource" in statement:
        if not any(matches(one, resource) for one in listed(statement["Resource"])):
            return False
    elif any(matches(one, resource) for one in listed(statement["NotResource"])):
        return False
    return condition_holds(statement.get("Condition", {}), context)


def decide(statements, action, resource, context):
    """Returns whether a call is allowed, and the statements that allow it. A denial takes
    precedence, and a call that no statement allows is rejected."""
    speaking = [one for one in statements if covers(one, action, resource, context)]
    if any(one["Effect"] == "Deny" for one in speaking):
        return False, []
    return bool(speaking), speaking
