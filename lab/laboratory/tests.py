"""Tests of what is made from the figures: no server is started."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
LAB = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(LAB), str(LAB.parent / "bench")]

# The paths above come first.
from java_microcache import experiment as java, rising  # noqa: E402
from laboratory import archive, cli, findings, install, load, panels, picture, place, report, rest, rounds, servers, summary  # noqa: E402
from laboratory.result import APPLICATION, FIRST_ERROR, LARDER, PEER, Case, Result, Row  # noqa: E402
from laboratory.verdict import Standing, verdicts  # noqa: E402
from measure import machine  # noqa: E402
from php_varnish import experiment as php  # noqa: E402
from redis_nginx import experiment as redis  # noqa: E402


def row(name, role, rate, p99_ms, cpu_us, **more):
    """A row of one round or of several."""
    return Row(name, role, "/", rate, [1.0] * len(rate), p99_ms, cpu_us, 9.0, 100, 0, {}, 99.0, **more)


def result(*rows, offered=False):
    """An article with one case."""
    case = Case("A case", "What is asked.", "--connections 1", offered, list(rows))
    drawn = panels.three(case, "One") + [panels.over_users(case, "p99_ms", "By users", "ms", log=True)]
    said = Result("an_article", 1, "An article", "an-article", "It said so.", ["a figure"], ["nothing"], cases=[case], panels=drawn)
    return said.as_json() | {"run": {"date": "2000-01-01", "call": "lab/run", "quick": True, "seconds": 7}}


def claimed(figure, one, other, expect, *rows):
    """What is said of an article's only conclusion, and whether it holds."""
    found = result(*rows)
    found["claims"] = [{"says": "it is so.", "figure": figure, "one": (0, one), "other": other and (0, other), "expect": expect}]
    return findings.judged(found)[0], findings.conclusions(found)


def growing(*shares):
    """An article in which Larder answers 100 requests a second of one URL, and with many URLs such a share of it."""
    rows = [row("Larder", LARDER, [100 * share], [1.0], [1.0]) for share in (1.0, *shares)]
    cases = [Case(name, "", "", False, [one]) for name, one in zip("ab", rows)]
    return Result("many", 5, "Many", "many", "", [], [], cases=cases, steady=[0, 1]).as_json()


PLAIN = (row("app", APPLICATION, [10], [90.0], [900.0]), row("nginx", PEER, [100, 110, 90], [2.0, 3.0, 1.5], [10.0, 10.0, 10.0]))
AHEAD = row("Larder", LARDER, [200, 201, 199], [1.0, 1.0, 1.0], [4.0, 5.0, 4.0])
MIXED = row("Larder", LARDER, [200], [5.0], [10.0])


class Verdicts(unittest.TestCase):
    """Ahead means in all three figures, and by the medians."""

    def test_ahead_in_all(self):
        (found,) = verdicts(result(*PLAIN, AHEAD)["cases"][0])
        self.assertEqual((found.peer, found.standing(), found.decisive()), ("nginx", Standing.AHEAD, ["requests/s", "p99", "CPU"]))
        self.assertAlmostEqual(found.ratios["rate"], 2.0)

    def test_behind_and_alike_are_named(self):
        (found,) = verdicts(result(*PLAIN, MIXED)["cases"][0])
        self.assertEqual((found.standing(), found.decisive()), (Standing.BEHIND, ["p99"]))
        self.assertIs(found.standings["cpu_us"], Standing.ALIKE)

    def standing(self, mine, its, check=(None, None)):
        """Where Larder stands by its rates and the peer's, in everything else far ahead, with what wrk saw of both."""
        checks = [{"tool": "wrk", "rate": rate, "p99_ms": None} if rate else None for rate in check]
        rows = [row("nginx", PEER, its, [2.0], [9.0], check=checks[1]), row("Larder", LARDER, mine, [1.0], [1.0], check=checks[0])]
        (found,) = verdicts(result(*rows)["cases"][0])
        return found.standing()

    def test_what_is_close_is_alike(self):
        for mine, its, standing in (
                ([109], [100], Standing.ALIKE), ([91], [100], Standing.ALIKE), ([111], [100], Standing.AHEAD), ([90], [100], Standing.BEHIND),
                # As far apart as rounds of one of them are.
                ([100, 130, 140], [90, 95, 101], Standing.ALIKE), ([102, 130, 140], [90, 95, 101], Standing.AHEAD)):
            with self.subTest(mine=mine, its=its):
                self.assertIs(self.standing(mine, its), standing)

    def test_what_the_cross_check_has_the_other_way_round_is_not_decided(self):
        for mine, its, check, standing in (
                ([131], [120], (98, 135), Standing.DISPUTED), ([80], [120], (135, 98), Standing.DISPUTED), ([150], [100], (99, 100), Standing.DISPUTED),
                ([150], [100], (101, 100), Standing.AHEAD), ([150], [100], (None, 100), Standing.AHEAD), ([102], [100], (99, 100), Standing.ALIKE)):
            with self.subTest(mine=mine, its=its, check=check):
                self.assertIs(self.standing(mine, its, check), standing)

    def test_latencies_that_the_cross_check_did_not_see_decide_nothing(self):
        def found(waiting):
            """Larder's p99 is lower to the one tool, and higher to the other, which says that so many of 50 connections waited."""
            checks = [{"tool": "wrk", "rate": 100.0, "p99_ms": p99_ms, "connections": 50, "waiting": many} for p99_ms, many in ((1.0, 50.0), (592.0, waiting))]
            made = result(row("nginx", PEER, [100], [2.0], [9.0], check=checks[0]), row("Larder", LARDER, [200], [1.0], [1.0], check=checks[1]))
            (judged,) = verdicts(made["cases"][0])
            return judged.standing(), report.table_of(made)

        standing, text = found(52.0)
        self.assertIs(standing, Standing.DISPUTED)
        self.assertIn("; 592≠ |", text)
        standing, text = found(1447.0)
        self.assertIs(standing, Standing.AHEAD)
        self.assertIn("; 592† |", text)
        self.assertIn("- †: connections that waited, by wrk: 1,447 of 50", text)

    def test_two_whose_rounds_are_alike_to_both_tools_are_alike(self):
        def check(*rates):
            return {"tool": "wrk", "rate": rates[1], "p99_ms": None, "rounds": {"rate": list(rates)}}

        rows = [row("nginx", PEER, [100, 110, 125], [2.0], [9.0], check=check(100, 130, 140)),
                row("Larder", LARDER, [110, 130, 140], [1.0], [1.0], check=check(90, 100, 110))]
        (found,) = verdicts(result(*rows)["cases"][0])
        self.assertIs(found.standing(), Standing.ALIKE)
        rows[1].check = check(80, 90, 99)
        (found,) = verdicts(result(*rows)["cases"][0])
        self.assertIs(found.standing(), Standing.DISPUTED, "wrk tells them apart, the other way round")

    def test_a_figure_that_is_missing_is_not_ahead(self):
        silent = row("Larder", LARDER, [0.0], [None], [None])
        (found,) = verdicts(result(*PLAIN, silent)["cases"][0])
        self.assertEqual((found.standing(), found.decisive()), (Standing.BEHIND, ["requests/s", "p99", "CPU"]))
        unknown = row("Larder", LARDER, [200], [1.0], [None])
        (found,) = verdicts(result(*PLAIN, unknown)["cases"][0])
        self.assertEqual((found.standing(), found.decisive()), (Standing.UNKNOWN, ["CPU"]))

    def test_who_fails_more_is_not_ahead(self):
        failing = row("Larder", LARDER, [200, 201, 199], [1.0, 1.0, 1.0], [4.0, 5.0, 4.0])
        failing.errors = 1
        (found,) = verdicts(result(*PLAIN, failing)["cases"][0])
        self.assertEqual(found.decisive(), ["errors"])

    def test_rates_that_users_set_are_not_compared(self):
        (found,) = verdicts(result(*PLAIN, AHEAD, offered=True)["cases"][0])
        self.assertEqual(list(found.ratios), ["p99_ms", "cpu_us"])


class Rising(unittest.TestCase):
    """Users who rise until requests fail."""

    @staticmethod
    def ramp(errors_at=99.0, late_at=99.0, full_at=99.0, faults=()):
        """Who is asked by 100 users more in every quarter of a second, and when it begins to fail, to be late, and to be too much for the
        tool."""
        points = [{"at": at / 4, "seconds": 0.25, "users": 100 * at, "errors": int(at / 4 >= errors_at), "p50_ms": 500.0 if at / 4 >= late_at else None,
                   "tool_cores": 1.0 if at / 4 <= 0.25 or at / 4 >= full_at else 0.5} for at in range(1, 41)]
        one = row("nginx", PEER, [1.0], [1.0], [1.0], points=points)
        one.faults = dict.fromkeys(faults, 1)
        return rising.endured(one)

    def test_how_many_there_were(self):
        for found, failed, slow, full, bore in (
                (self.ramp(), None, None, None, (4000, True)),
                # What is refused is known at once, what has no answer when its time is over.
                (self.ramp(errors_at=5.0, faults=["reset", "connect-timeout"]), 2000, None, None, (2000, False)),
                (self.ramp(errors_at=5.0, faults=["connect-timeout"]), 1200, None, None, (1200, False)),
                (self.ramp(errors_at=5.0, faults=["connect-timeout", "local"]), 1200, None, None, (1200, False)),
                # The tool has no port left, or no file.
                (self.ramp(errors_at=5.0, faults=["local"]), None, None, 2000, (2000, True)),
                (self.ramp(errors_at=5.0, late_at=4.0, faults=["closed"]), 2000, 1600, None, (2000, False)),
                # A second without anything left: the tool ended first, or after the server had.
                (self.ramp(full_at=5.0), None, None, 2300, (2300, True)),
                (self.ramp(errors_at=8.0, full_at=5.0, faults=["closed"]), 3200, None, 2300, (2300, True)),
                (self.ramp(errors_at=5.0, full_at=6.0, faults=["closed"]), 2000, None, 2700, (2000, False))):
            with self.subTest(found=found):
                self.assertEqual((found.failed, found.slow, found.full, found.bore()), (failed, slow, full, bore))

    def test_what_ended_is_said(self):
        tools, servers_own = self.ramp(full_at=5.0), self.ramp(errors_at=5.0, faults=["closed"])
        self.assertEqual(rising.notes({"nginx": servers_own}), [])
        (said,) = rising.notes({"nginx": servers_own, "Larder": tools})
        self.assertEqual(said, "The load tool reached its limit first with Larder. How many more users the server bears is not known.")
        self.assertEqual(list(tools.columns().values()), ["no error up to 4,000", "never", "2,300"])
        self.assertEqual(list(servers_own.columns().values()), ["2,000", "never", "never"])
        self.assertEqual(rising.panel({"nginx": servers_own, "Larder": tools}, "One")["values"], {"nginx": 2000, "Larder": 2300})

    def test_who_bears_more_is_ahead_where_it_is_known(self):
        for mine, its, judged in (
                ((300, False), (200, False), Standing.AHEAD), ((200, False), (300, False), Standing.BEHIND),
                ((300, True), (200, False), Standing.AHEAD), ((200, True), (300, False), Standing.OPEN),
                ((300, False), (400, True), Standing.BEHIND), ((300, False), (200, True), Standing.OPEN),
                ((300, True), (200, True), Standing.OPEN)):
            rows = (row("nginx", PEER, [1.0], [1.0], [1.0], bore=its[0], bears_more=its[1]),
                    row("Larder", LARDER, [1.0], [9.0], [9.0], bore=mine[0], bears_more=mine[1]))
            found = result(*rows, offered=True)
            found["cases"][0]["rises"] = True
            with self.subTest(mine=mine, its=its):
                (said,) = verdicts(found["cases"][0])
                self.assertEqual((list(said.ratios), said.standing()), (["bore"], judged))
                best, (users, more) = ("Larder", mine) if judged is Standing.AHEAD else ("nginx", its)
                text = findings.findings(found)[0]
                self.assertEqual(f"best: {best} (users {'at least ' if more else ''}{users})." in text, judged is not Standing.OPEN)
                self.assertEqual("best" in text, judged is not Standing.OPEN)
                self.assertEqual("not decided which bears the most users" in text, judged is Standing.OPEN)


class Findings(unittest.TestCase):
    """Sentences follow from the figures."""

    def test_a_conclusion_holds_or_not(self):
        rows = (*PLAIN, AHEAD)
        for figure, one, other, expect, judged, said in (
                ("rate", "Larder", "nginx", "more", True, "requests/s 200 (Larder) against 100 (nginx), × 2"),
                ("rate", "nginx", "Larder", "more", False, "requests/s 100 (nginx) against 200 (Larder), × 0.5"),
                ("p99_ms", "Larder", "nginx", "less", True, "p99 1 ms (Larder) against 2 ms (nginx), × 0.5"),
                ("p99_ms", "Larder", "Larder", "alike", True, "p99 1 ms (Larder) against 1 ms (Larder), × 1"),
                ("cpu_us", "app", "nginx", "alike", False, "CPU 900 µs (app) against 10 µs (nginx), × 90"),
                ("errors", "nginx", None, "none", True, "nginx: 0 of 100 requests failed"),
                ("errors", "nginx", None, "some", False, "nginx: 0 of 100 requests failed"),
                ("rate", "nobody", "nginx", "more", None, "requests/s nothing (nobody) against 100 (nginx)"),
                ("errors", "nobody", None, "none", None, "nothing")):
            with self.subTest(figure=figure, one=one, expect=expect):
                told, counts = claimed(figure, one, other, expect, *rows)
                self.assertEqual(told, ["it is so.", said, {True: "yes", False: "**no**", None: "not measured"}[judged]])
                self.assertEqual(counts, (1, int(judged is True), int(judged is None)))

    def test_what_is_within_ten_percent_is_alike(self):
        for rate, expect in ((109, "alike"), (111, "more"), (92, "alike"), (90, "less")):
            told, _ = claimed("rate", "Larder", "nginx", expect, *PLAIN, row("Larder", LARDER, [rate], [1.0], [1.0]))
            self.assertEqual(told[-1], "yes", rate)

    def test_which_to_use_and_what_it_gains(self):
        (text,) = findings.findings(result(*PLAIN, AHEAD))
        for said in ("best: Larder (requests/s 200, p99 1 ms, CPU 4 µs).",
                     "Gain over no cache (app, 10 requests/s): nginx: requests/s × 10, median × 1; Larder: requests/s × 20, median × 1."):
            self.assertIn(said, text)
        (text,) = findings.findings(result(*PLAIN, row("Larder", LARDER, [200], [5.0], [4.0])))
        self.assertIn("best: Larder (requests/s 200, CPU 4 µs); nginx (p99 2 ms).", text)

    def test_loads_of_which_the_same_is_said_share_a_line(self):
        found = result(*PLAIN, AHEAD)
        found["cases"] *= 2
        self.assertTrue(findings.findings(found)[0].startswith("**A case; A case:** best: Larder"))

    def test_who_fails_is_not_the_best(self):
        failing = row("Larder", LARDER, [200], [1.0], [4.0])
        failing.errors = 1
        (text,) = findings.findings(result(*PLAIN, failing))
        self.assertIn("best of those without an error: nginx (requests/s 100, ", text)

    def test_a_fall_is_judged(self):
        for share, judged in ((1.2, "does not fall"), (0.95, "does not fall"), (0.94, "falls (Larder)")):
            found = growing(share)
            self.assertIn(f"Larder {judged}; less than 95%", findings.findings(found)[-1])
            said = summary.shortfalls([found])
            self.assertNotIn("Behind", said, "it is no comparison")
            self.assertEqual("Falling with many URLs" in said, share < 0.95)
        self.assertIn("- 5: Larder keeps 94% of its requests/s, less than 95%", said)
        self.assertIn("It is reached in 0 of 1 articles.", summary.summary([found]))
        for case, used in zip(found["cases"], (500.0, 3000.0)):
            case["rows"][0]["application_us"] = used
        why = ": to renew its pages, the application uses 28% of the core that both share, with one URL 5%"
        self.assertIn(f"- 5: Larder keeps 94% of its requests/s, less than 95%{why}", summary.shortfalls([found]))
        found["cases"][0]["extra"], found["cases"][1]["extra"] = {"Larder": {FIRST_ERROR: "2,000"}}, {"Larder": {FIRST_ERROR: "50"}}
        found["rising"] = [0, 1]
        self.assertIn("with one URL and with many:** Larder: 2,000, then 50.", findings.findings(found)[-1])


class Archives(unittest.TestCase):
    """What was measured stays, whatever comes after it."""

    RUN = {"date": "2000-01-01", "call": "lab/run", "quick": False, "machine": {"cores": "2"}, "warnings": []}

    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = Path(home.name)
        self.page = self.home / "lab.md"

    def archive(self, date):
        """An archive of a day, and a page of all days."""
        folders = [path.parent for path in self.home.glob("*/run.json")]
        return archive.Archive(self.home / date, self.RUN | {"date": date}, self.page, folders)

    def article(self, number, title):
        """An article that was measured."""
        return result(*PLAIN, AHEAD) | {"number": number, "name": f"a_{number}", "title": title}

    def test_everything_of_an_article_is_written(self):
        self.archive("2000-01-01").measured(self.article(1, "One"), 3)
        self.assertEqual(sorted(path.name for path in (self.home / "2000-01-01").iterdir()),
                         ["1-a-1.json", "1-a-1.md", "1-a-1.svg", "run.json"])
        self.assertIn("[output of the tools](2000-01-01/raw/a_1)", self.page.read_text())

    def test_a_failure_takes_nothing_with_it(self):
        run = self.archive("2000-01-01")
        run.measured(self.article(1, "One"), 3)
        run.failed("Two", "no port 80 in 20 s\nand more")
        text = self.page.read_text()
        self.assertIn("## 1. One", text)
        self.assertIn("- Two failed on 2000-01-01: no port 80 in 20 s.", text)
        self.assertNotIn("and more", text)

    def test_the_page_is_of_the_newest_of_each(self):
        first = self.archive("2000-01-01")
        first.measured(self.article(1, "One"), 3)
        first.measured(self.article(2, "Two"), 3)
        second = self.archive("2000-01-02")
        second.measured(self.article(2, "Two"), 3)
        second.failed("One", "it broke")
        text = self.page.read_text()
        for said in ("(2000-01-01/1-a-1.svg)", "(2000-01-02/2-a-2.svg)", "One failed on 2000-01-02: it broke. Its figures below are of 2000-01-01."):
            self.assertIn(said, text)
        # Measured again on the same day, it has not failed any more.
        self.archive("2000-01-02").measured(self.article(1, "One"), 3)
        self.assertNotIn("failed on", self.page.read_text())

    def test_an_article_keeps_what_it_was_measured_with(self):
        def run(revision, warnings):
            made = self.RUN | {"machine": {"cores": "2", "larder": f"revision {revision}"}, "warnings": warnings}
            return archive.Archive(self.home / "2000-01-01", made, self.page, [self.home / "2000-01-01"])

        older = run("aaa", ["busy"])
        older.measured(self.article(1, "One"), 3)
        older.measured(self.article(2, "Two"), 3)
        # Before articles kept it, it was in the run's own file alone.
        raw = self.home / "2000-01-01" / "2-a-2.json"
        kept = json.loads(raw.read_text())
        del kept["run"]["machine"], kept["run"]["warnings"]
        raw.write_text(json.dumps(kept))
        run("bbb", []).measured(self.article(3, "Three"), 3)
        entries, _ = archive.read([self.home / "2000-01-01"], self.page)
        self.assertEqual([(entry.run["machine"]["larder"], entry.run["warnings"]) for entry in entries],
                         [("revision aaa", ["busy"]), ("revision bbb", []), ("revision bbb", [])])
        text = self.page.read_text()
        for said in ("Measured on 2000-01-01 in 3 s with `lab/run`.", "- cores: 2\n\nArticle 1:\n\n- larder: revision aaa",
                     "Articles 2, 3:\n\n- larder: revision bbb", "- 1, 2000-01-01: busy"):
            self.assertIn(said, text)

    def test_an_experiment_that_fails_is_written_down(self):
        for fault, said in ((load.LoadFailed("wrk: no"), "wrk: no"), (KeyError("rate"), "a fault of the laboratory: KeyError: 'rate'")):
            run = self.archive("2000-01-01")
            experiment = mock.Mock(TITLE="One", NEEDS=("go",), run=mock.Mock(side_effect=fault))
            with mock.patch.object(cli, "_say"):
                self.assertIsNone(cli._one(experiment, None, run, {"java": "no Maven"}))
            self.assertIn(f"One failed on 2000-01-01: {said}", self.page.read_text())

    def test_what_cannot_be_built_is_missing_where_it_is_needed(self):
        run = self.archive("2000-01-01")
        experiment = mock.Mock(TITLE="One", NEEDS=("java",))
        with mock.patch.object(cli, "_say"):
            self.assertIsNone(cli._one(experiment, None, run, {"java": "no Maven"}))
        experiment.run.assert_not_called()
        self.assertIn("One failed on 2000-01-01: no Maven", self.page.read_text())


class Loads(unittest.TestCase):
    """What the other tools say."""

    WRK = "    Latency     4.05ms  179.18us   4.80ms   98.11%\n  Latency Distribution\n     50%    1.20ms\n     99%    0.90s \nRequests/sec:   1234.50\n"

    def checked(self, *said):
        """A case that is checked with wrk, whose runs are or raise this, and what was kept of the last."""
        case = Case("A case", "", "", False, [row("nginx", PEER, [1], [1.0], [1.0])])
        contender, stage = mock.Mock(url="http://127.0.0.1:1/"), mock.Mock()
        contender.name = "nginx"
        with mock.patch.object(load, "_run", side_effect=said):
            load.wrk(stage, mock.Mock(check=1, rounds=len(said)), case, [contender], 10)
        return case, stage.keep.call_args

    def test_what_wrk_says(self):
        case, kept = self.checked(self.WRK)
        waiting = case.rows[0].check.pop("waiting")
        self.assertAlmostEqual(waiting, 1234.5 * 4.05 / 1000)
        self.assertEqual(case.rows[0].check, {"tool": "wrk", "rate": 1234.5, "p99_ms": 900.0, "connections": 10,
                                              "rounds": {"rate": [1234.5], "p99_ms": [900.0]}})
        self.assertEqual(kept.args[0], "a-case-nginx-wrk.txt")
        late, _ = self.checked(self.WRK.replace("4.05ms", "40.5ms"))
        self.assertAlmostEqual(late.rows[0].check["waiting"], 1234.5 * 40.5 / 1000)
        self.assertTrue(kept.args[1].startswith("$ wrk -t 1 -c 10"))

    def test_of_several_runs_of_wrk_the_medians_count(self):
        slow, fast = (self.WRK.replace("1234.50", rate).replace("0.90s", p99) for rate, p99 in (("900.00", "2.00s"), ("2000.00", "0.80s")))
        case, kept = self.checked(slow, self.WRK, fast)
        check = case.rows[0].check
        self.assertEqual((check["rate"], check["p99_ms"]), (1234.5, 900.0))
        self.assertEqual(check["rounds"], {"rate": [900.0, 1234.5, 2000.0], "p99_ms": [2000.0, 900.0, 800.0]})
        self.assertEqual(kept.args[0], "a-case-nginx-wrk-3.txt")

    def test_who_fails_with_wrk_is_counted(self):
        said = self.WRK + "  Socket errors: connect 0, read 2, write 0, timeout 3\n  Non-2xx or 3xx responses: 4\n"
        case, _ = self.checked(said)
        self.assertEqual(case.rows[0].check["failed"], 9)

    def test_users_who_rest_are_a_script_and_only_their_rate_counts(self):
        case = Case("A case", "", "", True, [row("nginx", PEER, [1], [1.0], [1.0])])
        with tempfile.TemporaryDirectory() as folder:
            contender, stage = mock.Mock(url="http://127.0.0.1:1/read"), mock.Mock(directory=Path(folder))
            contender.name = "nginx"
            with mock.patch.object(load, "_run", side_effect=[self.WRK]) as run:
                load.wrk_users(stage, case, [contender], 30, 10, 15, ["/a", "/b"])
            script = (Path(folder) / "wrk.lua").read_text()
        self.assertEqual(case.rows[0].check, {"tool": "wrk", "rate": 1234.5, "p99_ms": None})
        self.assertEqual([str(part) for part in run.call_args.args[0]][:7], ["wrk", "-t", "1", "-c", "30", "-d", "15s"])
        for said in ('{ "/a", "/b" }', "math.random(0, 10000)", '"Connection"] = "close"'):
            self.assertIn(said, script)

    def test_an_application_answers_what_is_not_counted_too(self):
        target = {"rounds": [], "rate": 1.0, "latency_ms": None, "process": None, "requests": 200, "warm_up_requests": 100, "errors": 0,
                  "statuses": {"codes": {}}, "faults": {}, "cache": {"hits_percent": None, "unsaid": 1}, "points": [], "curve": []}
        process = mock.Mock(cpu_seconds=mock.Mock(side_effect=[1.0, 4.0]))
        contender = servers.Contender("nginx", PEER, "http://127.0.0.1:1/", [], [process])
        case = load.new_case("A case", "", [])
        with mock.patch.object(load, "_bench", return_value={"targets": [target], "warnings": []}):
            load.compare(mock.Mock(), mock.Mock(warm_up=1), case, [], [contender], 5, 1)
        self.assertEqual(case.rows[0].application_us, 10_000)

    def test_rounds_that_were_taken_one_by_one_are_one_row(self):
        points = [{"at": 0.0, "seconds": 0.25}, {"at": 0.25, "seconds": 0.25}]
        taken = [row("Larder", LARDER, [100], [1.0], [4.0], application_us=10.0, points=points, curve=[[0.0, 1.0]]),
                 row("Larder", LARDER, [110], [2.0], [5.0], application_us=40.0, points=points, curve=[[0.0, 2.0]])]
        taken[0].faults, taken[1].faults = {"reset": 1}, {"reset": 2, "closed": 3}
        taken[1].requests, taken[1].cached, taken[1].max_ms = 200, 90.0, 10.0
        found = rounds.joined(taken)
        self.assertEqual((found.rate, found.requests, found.application_us, found.cached), ([100, 110], 300, 30.0, 93.0))
        self.assertEqual((found.max_ms, found.faults, found.curve), (10.0, {"reset": 3, "closed": 3}, []))
        self.assertEqual([point["at"] for point in found.points], [0.0, 0.25, 0.5, 0.75])
        self.assertEqual(rounds.joined(taken[:1]), taken[0])

    def test_each_page_is_asked_once_right_before_its_round(self):
        done, both = [], [servers.Contender(name, PEER, f"http://127.0.0.1:1/{name}", []) for name in ("one", "two")]

        def compared(stage, settings, case, flags, contenders, seconds, times):
            done.append(f"{times} of {contenders[0].name}")
            case.rows.append(row(contenders[0].name, PEER, [1.0], [1.0], [1.0]))

        case = load.new_case("A case", "", [])
        with mock.patch.object(load, "compare", compared), mock.patch.object(rounds, "ask", done.append):
            taken = rounds.in_turn(mock.Mock(), mock.Mock(rounds=2), case, [], both, 5)
        self.assertEqual(done, [both[0].url, "1 of one", both[1].url, "1 of two"] * 2)
        self.assertEqual([(found.contender, len(found.rate), len(taken[found.contender])) for found in case.rows], [("one", 2, 2), ("two", 2, 2)])

    def test_how_much_comes_to_the_api_behind_a_cache_is_seen(self):
        apis = [(port, f"api {port}") for port in range(8)]
        with mock.patch.multiple(servers, python=mock.Mock(side_effect=apis), nginx=mock.Mock(return_value=(80, 81, "nginx")),
                                 larder=mock.Mock(return_value=servers.Contender("through Larder", LARDER, "http://127.0.0.1:82", ["larder"]))), \
                mock.patch.multiple(load, compare=mock.DEFAULT, wrk=mock.DEFAULT) as loads:
            redis._between(None, mock.Mock(seconds=5))
        contenders = loads["compare"].call_args.args[4]
        self.assertEqual([one.application for one in contenders], [["api 0"], ["api 1"], ["api 2"], ["api 3"]])
        self.assertEqual([one.serving for one in contenders], [["api 4"], ["api 5", "nginx"], ["api 6", "nginx"], ["api 7", "larder"]])

    def test_users_who_rest_do_not_wait_for_an_update_in_the_background(self):
        # The kernel keeps the last bytes of an answer back for at most 200 ms: only a clock would see it.
        for name, said in (("php_varnish/nginx-fastcgi.conf", r"background_update on;\s+tcp_nopush off;"),
                           ("java_microcache/nginx-expert.conf", r"@TLS_PORT@[^}]+tcp_nopush off;")):
            self.assertRegex((LAB / name).read_text(), said)
        everybody = java._Everybody(None, ["as they can"], ["resting"], "purged", "")
        with mock.patch.object(load, "compare") as compare, mock.patch.object(load, "wrk_users") as wrk, \
                mock.patch.multiple(java, _fill=mock.DEFAULT, _with_updates=mock.DEFAULT):
            java._point(None, mock.Mock(stay=13), everybody, None, "one URL", 3000)
        self.assertEqual((compare.call_args.args[4], wrk.call_args.args[2]), (["resting"], ["resting", "purged"]))

    def test_a_look_at_expiries_begins_with_a_page_that_is_there(self):
        slow = [[0.0, 1.0], [99.0, 1.0], [99.5, 150.0], [100.0, 151.0]]

        def taken(stage, settings, case, flags, contenders, seconds):
            rows = [row("Varnish", PEER, [200.0], [1.0], [1.0], curve=slow) for _ in range(3)]
            for one in rows:
                one.max_ms = 151.0
            case.rows.append(rounds.joined(rows))
            return {"Varnish": rows}

        with mock.patch.object(rounds, "in_turn", taken):
            case = php._expiry(mock.Mock(), mock.Mock(expiry=16), [])
        self.assertEqual(case.extra, {"Varnish": {"waited longer than 100 ms": "3 of 300"}})
        self.assertIn("asked once right before each round", case.asks)

    def test_a_cross_check_that_fails_takes_nothing_with_it(self):
        case, kept = self.checked(load.LoadFailed("no end after 16 s: wrk\nmore"))
        self.assertEqual((case.notes, case.rows[0].check, kept), (["No cross-check of nginx: wrk: no end after 16 s: wrk"], None, None))


class Pages(unittest.TestCase):
    """What readers see."""

    def test_where_larder_is_not_ahead_is_said(self):
        both = [result(*PLAIN, AHEAD), result(*PLAIN, MIXED)]
        text = summary.summary(both)
        self.assertIn("**Of 2 comparisons with a peer, Larder is ahead in 1, alike in 0 and behind in 1; 0 are not decided.**", text)
        self.assertIn("| [1. An article](#1-an-article) | 0 of 0 | app: 10 | nginx: × 10 | Larder: × 20 | 1 | 0 | 0 | 0 |", text)
        self.assertIn("| all | 0 of 0 |  |  |  | 1 | 0 | 1 | 0 |", text)
        self.assertIn("Behind:\n\n- 1, A case: Larder against nginx, in p99 (requests/s × 2, p99 × 2.5, CPU × 1)", summary.shortfalls(both))
        self.assertEqual(summary.shortfalls(both[:1]), "")

    def test_comparisons_of_a_load_that_end_alike_are_one_line(self):
        text = summary.shortfalls([result(*PLAIN, MIXED, row("Another", LARDER, [200], [6.0], [10.0]))])
        self.assertIn("- 1, A case: 2 comparisons, in p99 (requests/s × 2, p99 × 2.5, CPU × 1; requests/s × 2, p99 × 3, CPU × 1)", text)

    def test_what_is_alike_though_worse_is_said(self):
        noisy = row("nginx", PEER, [100, 100, 100], [1.0, 1.0, 4.0], [10.0, 10.0, 10.0])
        for p99_ms, worse in (([1.0, 1.2, 1.5], True), ([1.0, 1.05, 1.5], False), ([0.5, 0.5, 1.5], False)):
            made = [result(noisy, row("Larder", LARDER, [200, 200, 200], p99_ms, [4.0, 4.0, 4.0]))]
            self.assertIn("alike in 1 and behind in 0", summary.summary(made))
            text = summary.shortfalls(made)
            self.assertEqual("but Larder's median is worse by more than 10 %:\n\n- 1, A case: Larder against nginx, in p99 (requests/s × 2, p99 × 1.2, "
                             in text, worse, p99_ms)
            self.assertEqual("worse by more" in text, worse)

    def test_whether_the_goal_is_reached_is_said(self):
        for rows, reached in (((*PLAIN, AHEAD), 1), ((*PLAIN, MIXED), 0), ((PLAIN[0],), 0)):
            self.assertIn(f"ahead of every peer in all that counts. It is reached in {reached} of 1 articles.", summary.summary([result(*rows)]))

    def test_what_is_not_decided_is_said(self):
        peer, larder = (row(name, role, rate, [1.0], [1.0], check={"tool": "wrk", "rate": check, "p99_ms": None, "connections": 64, "waiting": waiting})
                        for name, role, rate, check, waiting in (
                            ("nginx", PEER, [120_661.0], 135_451.0, 63.0), ("Larder", LARDER, [131_157.0], 98_689.0, 34.1)))
        made = result(peer, larder)
        made["claims"] = [{"says": "it is so.", "figure": "rate", "one": (0, "Larder"), "other": (0, "nginx"), "expect": "alike"}]
        self.assertIn("ahead in 0, alike in 0 and behind in 0; 1 are not decided", summary.summary([made]))
        self.assertIn("Not decided:\n\n- 1, A case: Larder against nginx, in requests/s: the cross-check disagrees (requests/s × 1.09,",
                      summary.shortfalls([made]))
        text = report.table_of(made)
        for said in ("1, 1: not decided (requests/s: the cross-check disagrees) |", "best: Larder (requests/s 131,157 though the cross-check disagrees",
                     "× 1.09 | the cross-check disagrees |",
                     "- wrk was the slower side; connections that waited, on average: Larder 34.1 of 64"):
            self.assertIn(said, text)
        self.assertNotIn("nginx 63", text)

    def test_what_is_not_alike_is_said(self):
        made = result(*PLAIN, AHEAD) | {"unlike": {"nginx": "nginx asks each time"}}
        self.assertIn("In 1 of the 1 comparisons in which Larder is ahead, Larder and the peer do different work: see [1](#1-an-article).",
                      summary.summary([made]))
        self.assertIn("- nginx asks each time (1 of those in which Larder is ahead).", report.table_of(made))

    def test_a_table_has_errors_checks_and_warnings(self):
        failing = row("nginx", PEER, [1.0], [1.0], [1.0], check={"tool": "wrk", "rate": 1234.0, "p99_ms": 1.05},
                      warnings=[{"kind": "late-sends", "text": "sent late"}])
        failing.unsaid = 7
        failing.errors, failing.faults = 12, {"timeout": 11, "status 502": 1, "reset": 0}
        text = report.table_of(result(failing, AHEAD))
        self.assertIn("| 99, of those that say; 7 do not | 12 (", text)
        # Where the tools disagree there is a mark.
        self.assertIn("| wrk: requests/s; p99 |", text)
        self.assertIn("| 12 (timeout 11, status 502 1) | 1,234≠; 1.05 |", text)
        self.assertIn("- Warning (nginx): sent late", text)
        self.assertIn("### Article 1: its errors\n\n- a figure", text)

    def test_a_column_that_tells_nothing_is_a_word(self):
        def shown(*shares):
            rows = [row(name, PEER, [1.0], [1.0], [1.0]) for name in "abc"]
            for one, share in zip(rows, shares):
                one.cached = share
            return report.table_of(result(*rows))

        for shares, told in (((99.94, 100.0, None), "`, one round; from cache 99.94 to 100 %\n"), ((100.0, 100.0, 100.0), "`, one round; from cache 100 %\n"),
                             ((None, None, None), "`, one round\n"), ((48.4, 100.0, None), "`, one round\n")):
            text = shown(*shares)
            self.assertIn(told, text)
            self.assertEqual("| from cache, % |" in text, 48.4 in shares)
            self.assertNotIn("errors |", text)

    def test_a_warning_is_said_once_of_all_whom_it_concerns(self):
        def warned(name, role, *texts):
            return row(name, role, [1.0], [1.0], [1.0], warnings=[{"kind": kind, "text": text} for kind, text in texts])

        busy = ("machine-at-limit", "busy")
        few = ("too-short", "p99 of 76 answers rests on 1 of them: measure longer for it to mean something")
        rows = [warned("app", APPLICATION), warned("nginx", PEER, busy, few), warned("Varnish", PEER, few), warned("Larder", LARDER, ("lag", "late")),
                warned("Another", LARDER, ("lag", "later"))]
        text = report.table_of(result(*rows))
        self.assertIn("- Warning (all peers): p99 of 76 answers rests on 1 of them\n- Warning (each Larder; figures of the first): late\n", text)
        self.assertNotIn("busy", text)

    def test_how_many_rounds_there_were_is_said(self):
        three = row("nginx", PEER, [1.0, 2.0, 3.0], [1.0], [1.0])
        for rows, said in (((three,), ", 3 rounds"), ((AHEAD, three), ", 3 rounds"), ((PLAIN[0],), ", one round"),
                           ((PLAIN[0], three), ", 3 rounds; one of app")):
            self.assertIn(f"`larder bench … --connections 1`{said}\n\n", report.table_of(result(*rows)))

    def test_what_chance_makes_differ_is_not_marked(self):
        for requests, marked in ((999, False), (1000, True)):
            few = row("nginx", PEER, [100.0, 100.0], [1.0], [1.0], check={"tool": "wrk", "rate": 120.0, "p99_ms": None})
            # Each round, as the one of wrk.
            few.requests = requests * 2
            self.assertEqual("| 120≠ |" in report.table_of(result(few, AHEAD, offered=True)), marked)
            self.assertIn("| 120≠ |", report.table_of(result(few, AHEAD)))

    def test_every_comparison_that_was_measured_is_judged(self):
        entries, _ = archive.read(archive.folders(), place.PAGE)
        results = [entry.result for entry in entries]
        self.assertTrue(results)
        compared = 0
        for one in results:
            part = report.table_of(one)
            for case in one["cases"]:
                pairs = sum((mine["role"], its["role"]) == (LARDER, PEER) for its in case["rows"] for mine in case["rows"])
                self.assertEqual(len(verdicts(case)), pairs, case["name"])
                compared += pairs
                lines = [line for line in part.splitlines() if line.startswith(tuple(f"| {verdict.peer} | " for verdict in verdicts(case)))]
                judged = [cell for line in lines for cell in line.split(" | ") if re.search(r": (ahead|alike|\*\*behind|not decided)", cell)]
                self.assertGreaterEqual(len(judged), pairs, case["name"])
        said = summary.summary(results).splitlines()[0]
        counts = [int(number) for number in re.findall(r"\d+", said)][:5]
        self.assertEqual((counts[0], sum(counts[1:])), (compared, compared), said)

    def test_an_article_has_its_own_count(self):
        self.assertIn("- **Larder against its peers:** ahead 1, alike 0, behind 0, not decided 0.", report.table_of(result(*PLAIN, AHEAD)))
        self.assertIn("- **Larder against its peers:** ahead 0, alike 0, behind 1, not decided 0.", report.table_of(result(*PLAIN, MIXED)))
        self.assertNotIn("its peers", report.table_of(result(PLAIN[0])))

    def test_the_page_follows_from_the_raw_data(self):
        made = json.loads(json.dumps(result(*PLAIN, AHEAD)))
        run = made["run"] | {"warnings": ["busy"], "machine": {"cores": "2"}}
        entry = archive.Entry(made, run, "results/2000-01-01")
        page = report.page([entry], [])
        for said in ("](results/2000-01-01/1-an-article.svg)", "too small to quote", "- 1, 2000-01-01: busy", "- cores: 2",
                     "Measured on 2000-01-01 in 7 s with `lab/run`",
                     "](results/2000-01-01/1-an-article.md#how-the-servers-were-started)", "[Details](#details-of-article-1-an-article)"):
            self.assertIn(said, page)
        places = [page.index(part) for part in ("make lab ", "## 1. An article", "## Details of article 1", "## How it was measured", "## The machine")]
        self.assertEqual(places, sorted(places))

    def test_whether_all_are_treated_alike_is_said(self):
        made = json.loads(json.dumps(result(*PLAIN, AHEAD)))
        for control, said in (("bbr", "Article 1: congestion control is bbr. The kernel paces what nginx"),
                              ("bbr, in a network of the run's own", "Article 1: congestion control is bbr, in a network of the run's own. The kernel paces"),
                              ("cubic, in a network of the run's own", "Article 1: congestion control is cubic, in a network of the run's own, for all")):
            run = made["run"] | {"warnings": [], "machine": {"tcp": control}}
            self.assertIn(said, report.page([archive.Entry(made, run, "results/2000-01-01")], []))

    def test_the_page_in_docs_is_made_from_the_newest_results(self):
        made = report.page(*archive.read(archive.folders(), place.PAGE))
        self.assertEqual(place.PAGE.read_text(), made, "run lab/run --page")


class Pictures(unittest.TestCase):
    """A picture is XML whatever was measured."""

    def drawn(self, *rows):
        """The picture of a case with these rows, parsed."""
        return xml.etree.ElementTree.fromstring(report.picture_of(result(*rows)))

    def test_bars_and_lines(self):
        points = [{"users": users, "p99_ms": users / 7 or None} for users in range(0, 100, 10)]
        tree = self.drawn(row("nginx <&> \"x\"", PEER, [1.0], [0.001], [3.0], points=points), AHEAD)
        self.assertTrue(tree.findall(".//{*}polyline"))

    def test_nothing_measured(self):
        tree = self.drawn(row("nginx", PEER, [None], [None], [None]))
        words = "".join(tree.itertext())
        self.assertIn("nothing was measured", words)

    def test_neighbours_become_one_point(self):
        points = [{"users": users, "p99_ms": 1.0, "errors": 1, "process_cores": users % 2} for users in range(100)]
        case = Case("a", "", "", True, [row("nginx", PEER, [1.0], [1.0], [1.0], points=points)])
        drawn = {figure: panels.over_users(case, figure, "", "")["lines"]["nginx"] for figure in ("p99_ms", "errors", "process_cores")}
        self.assertEqual(drawn["p99_ms"][0], (3, 1.0))
        self.assertEqual(sum(count for _, count in drawn["errors"]), 100, "no failure is lost")
        self.assertEqual(drawn["process_cores"][0], (3, 0.5))

    def test_zero_everywhere(self):
        self.drawn(row("nginx", PEER, [0], [0.0], [0.0], points=[{"users": 0, "p99_ms": 0.0}]))

    def test_numbers(self):
        said = [picture.number(value) for value in (None, 0, 0.00123, 0.5, 7, 99.94, 1234567)]
        self.assertEqual(said, ["", "0", "0.00123", "0.5", "7", "99.9", "1,234,567"])


class Small(unittest.TestCase):
    """Pieces."""

    def test_how_many_waited(self):
        slow = row("nginx", PEER, [1.0], [1.0], [1.0], curve=[[0.0, 1.0], [50.0, 2.0], [99.0, 3.0], [99.9, 150.0], [100.0, 151.0]])
        slow.requests, slow.max_ms = 2000, 151.0
        self.assertEqual(load.slower_than(slow, 100), 20)
        self.assertEqual(load.slower_than(slow, 200), 0)
        # A curve may end short of 100 percent.
        slow.curve = slow.curve[:3]
        self.assertEqual(load.slower_than(slow, 200), 0)

    def test_commands_as_one_would_type_them(self):
        said = servers._plain("taskset -c 0 /usr/sbin/nginx -p /dev/shm/larder-bench-ab/nginx-cd -c 127.0.0.1:1234 --port 6379")
        self.assertEqual(said, "taskset -c 0 nginx -p DIR/nginx -c 127.0.0.1:PORT --port PORT")
        self.assertEqual(place.plain(f"{place.LARDER} --file /dev/shm/larder-bench-ab_1/paths"), "larder --file DIR/paths")

    def test_a_machine_comes_to_rest_before_anything_is_measured(self):
        for averages, slept, said in (([0.5], 0, 0), ([1.6, 1.1, 0.4], 2, 1), ([1.6] * 100, rest.MOST_SECONDS // rest.STEP_SECONDS, 1)):
            say = mock.Mock()
            with mock.patch("os.getloadavg", side_effect=[(average, 1.0, 1.0) for average in averages]), mock.patch("time.sleep") as sleep:
                rest.wait(say)
            self.assertEqual((sleep.call_count, say.call_count), (slept, said), averages)
        self.assertIn("the load average is 1.6: waiting", say.call_args.args[0])
        for average, warned in ((rest.BUSY, False), (rest.BUSY + 0.1, True)):
            with mock.patch("os.getloadavg", return_value=(average, 1.0, 1.0)):
                self.assertEqual("load average" in str(machine.warnings()), warned, average)

    def test_the_machine_is_described_after_it_has_come_to_rest(self):
        for quick, waits in ((False, True), (True, False)):
            done = mock.Mock()
            done.warnings.side_effect = KeyboardInterrupt
            with mock.patch.multiple(cli, rest=done, machine=done, network=mock.Mock(), install=mock.Mock()), self.assertRaises(KeyboardInterrupt):
                done.describe.return_value = cli.install.versions.return_value = {}
                cli._measure(mock.Mock(quick=quick), [], "lab/run")
            self.assertEqual([call[0] for call in done.method_calls], ["wait"] * waits + ["describe", "warnings"])

    def test_versions_are_pinned(self):
        self.assertRegex(install._pinned("go.mod")[0], r"^v2\.")
        self.assertEqual(len(install._pinned("pom.xml")), 2)
        lines = [line for line in install.PINNED.read_text().splitlines() if line and not line.startswith("#")]
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9-]+==[\d.]+$")
        self.assertIn("werkzeug", [line.split("==")[0] for line in lines], "what is measured is pinned")

    def test_no_version_hides_another(self):
        self.assertEqual(set(machine.describe()) & set(install.versions()), set())

    def test_what_is_installed_is_not_started(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(install, "_root", lambda: []):
            said = Path(folder) / "policy-rc.d"
            with mock.patch.object(install, "SERVICES", said):
                with self.assertRaises(KeyboardInterrupt), install._no_services():
                    self.assertEqual(subprocess.run([said, "nginx", "start"], check=False).returncode, 101)
                    raise KeyboardInterrupt
                self.assertFalse(said.exists())
                said.write_text("somebody else's")
                with install._no_services():
                    pass
                self.assertEqual(said.read_text(), "somebody else's")


if __name__ == "__main__":
    unittest.main()
