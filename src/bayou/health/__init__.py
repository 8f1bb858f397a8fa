"""Health: is all well with a datastore, and what to do if not. `bayou doctor` shows it.

A check is a small function that looks at one thing of a `Patient` and says what it found; `checks.CHECKS` has them all.
"""

from bayou.health.checks import CHECKS, examine
from bayou.health.findings import Check, Finding, Level, Repair, Report
from bayou.health.patient import Patient
from bayou.health.policies import policy

__all__ = ["CHECKS", "Check", "Finding", "Level", "Patient", "Repair", "Report", "examine", "policy"]
