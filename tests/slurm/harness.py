# SPDX-License-Identifier: Apache-2.0
"""Scenarios: how they are named, what they are given, and how they report.

A scenario is a function `def name(ctx)` under @scenario("title"). It starts clusters with ctx.stock(…)
and ctx.atoll(…), prints what it saw with ctx.say, and claims with ctx.expect. Claims are about Atoll;
what stock does is shown beside it, and claimed only where a scenario exists to show it.
"""

import contextlib
import time
import traceback

import boards
from cluster import SlurmCluster, SlurmError

SCENARIOS = {}


def scenario(title):
    def register(function):
        SCENARIOS[function.__name__.replace("_", "-")] = (title, function)
        return function
    return register


class NotHere(Exception):
    """This machine cannot run it; the text says what is missing."""


class Context:
    def __init__(self, plugin, atoll, keep, verbose):
        self.plugin, self.atoll_program = plugin, atoll
        self.keep, self.verbose = keep, verbose
        self.failures = []
        self.claims = 0
        self.lines = []

    # --- clusters ---
    def stock(self, layout, **options):
        return self._entered("stock", SlurmCluster(layout, keep=self.keep, verbose=self.verbose, **options))

    def atoll(self, layout, **options):
        """With the plugin and, unless said otherwise, a cluster file that describes the layout."""
        if not self.plugin:
            raise NotHere("no plugin built; give --plugin PATH/select_cons_tres_atoll.so")
        options.setdefault("cluster_file", boards.cluster_file(layout))
        return self._entered("atoll", SlurmCluster(layout, plugin=self.plugin, keep=self.keep, verbose=self.verbose,
                                                   **options))

    @contextlib.contextmanager
    def _entered(self, name, cluster):
        with cluster:
            try:
                yield cluster
                if not cluster.ctld.alive():
                    raise SlurmError("slurmctld has died")
            except (SlurmError, KeyError, IndexError):
                died = "" if cluster.ctld and cluster.ctld.alive() else " (slurmctld is dead)"
                self.say(f"{name}{died}: last of slurmctld's log:\n      " +
                         "\n      ".join(cluster.ctld_log().splitlines()[-15:]))
                raise
            finally:
                if self.keep:
                    self.say(f"{name}: kept {cluster.folder}")

    def both(self, layout, drive, **atoll_options):
        """drive(cluster) on stock, then on Atoll; both results, Atoll's None (and noted) with no plugin."""
        with self.stock(layout) as cluster:
            stock = drive(cluster)
        if not self.plugin:
            return stock, None
        with self.atoll(layout, **atoll_options) as cluster:
            return stock, drive(cluster)

    # --- reporting ---
    def say(self, text):
        self.lines.append(str(text))
        print(f"      {text}", flush=True)

    def expect(self, holds, what):
        self.claims += 1
        if not holds:
            self.failures.append(what)
            self.say(f"NOT SO: {what}")
        return holds

    def expect_equal(self, got, wanted, what):
        return self.expect(got == wanted, f"{what}: wanted {wanted!r}, got {got!r}")


def run_one(name, ctx):
    """Runs one scenario: "passed", "failed" or "skipped", and a word on it."""
    title, function = SCENARIOS[name]
    print(f"  {name}: {title}", flush=True)
    begin = time.monotonic()
    note = ""
    try:
        function(ctx)
        outcome = "failed" if ctx.failures else "passed"
        if not ctx.plugin and outcome == "passed":
            outcome, note = "skipped", "no plugin built; only stock was run"
    except NotHere as lacking:
        outcome, note = "skipped", str(lacking)
    except SlurmError as error:
        outcome, note = "failed", str(error)
    except Exception:
        outcome, note = "failed", traceback.format_exc()
    seconds = time.monotonic() - begin
    print(f"  {outcome:7} {name} ({ctx.claims} claims, {seconds:.1f} s){': ' + note if note else ''}\n", flush=True)
    if ctx.failures and not note:
        note = ctx.failures[0] + (f" (and {len(ctx.failures) - 1} more)" if len(ctx.failures) > 1 else "")
    return outcome, note
