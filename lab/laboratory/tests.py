"""Tests of what is made from the figures: no server is started."""

import json
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
from laboratory import archive, install, load, panels, picture, place, report, servers  # noqa: E402
from laboratory.result import APPLICATION, LARDER, PEER, Case, Result, Row  # noqa: E402
from laboratory.verdict import verdicts  # noqa: E402
from measure import machine  # noqa: E402


def row(name, role, rate, p99_ms, cpu_us, **more):
    """A row of one round or of several."""
    return Row(name, role, "/", rate, [1.0] * len(rate), p99_ms, cpu_us, 9.0, 100, 0, {}, 99.0, **more)


def result(*rows, offered=False):
    """An article with one case."""
    case = Case("A case", "What is asked.", "--connections 1", offered, list(rows))
    drawn = panels.three(case, "One") + [panels.over_users(case, "p99_ms", "By users", "ms", log=True)]
    return Result("an_article", 1, "An article", "an-article", "It said so.", ["nothing"], [case], drawn).as_json()


PLAIN = (row("app", APPLICATION, [10], [90.0], [900.0]), row("nginx", PEER, [100, 110, 90], [2.0, 3.0, 1.0], [10.0, 10.0, 10.0]))
AHEAD = row("Larder", LARDER, [200, 201, 199], [1.0, 1.0, 1.0], [4.0, 5.0, 4.0])
MIXED = row("Larder", LARDER, [200], [5.0], [10.0])


class Verdicts(unittest.TestCase):
    """Ahead means in all three figures, and by the medians."""

    def test_ahead_in_all(self):
        (found,) = verdicts(result(*PLAIN, AHEAD)["cases"][0])
        self.assertEqual((found.peer, found.behind()), ("nginx", []))
        self.assertAlmostEqual(found.ratios["rate"], 2.0)

    def test_behind_and_equal_are_named(self):
        (found,) = verdicts(result(*PLAIN, MIXED)["cases"][0])
        self.assertEqual(found.behind(), ["p99", "CPU"])

    def test_a_figure_that_is_missing_is_not_ahead(self):
        silent = row("Larder", LARDER, [0.0], [None], [None])
        (found,) = verdicts(result(*PLAIN, silent)["cases"][0])
        self.assertEqual(found.behind(), ["requests/s", "p99", "CPU"])

    def test_who_fails_more_is_not_ahead(self):
        failing = row("Larder", LARDER, [200, 201, 199], [1.0, 1.0, 1.0], [4.0, 5.0, 4.0])
        failing.errors = 1
        (found,) = verdicts(result(*PLAIN, failing)["cases"][0])
        self.assertEqual(found.behind(), ["errors"])

    def test_rates_that_users_set_are_not_compared(self):
        (found,) = verdicts(result(*PLAIN, AHEAD, offered=True)["cases"][0])
        self.assertEqual(list(found.ratios), ["p99_ms", "cpu_us"])


class Pages(unittest.TestCase):
    """What readers see."""

    def test_where_larder_is_not_ahead_is_said(self):
        text = report.summary([result(*PLAIN, AHEAD), result(*PLAIN, MIXED)])
        self.assertIn("ahead of the peer in 1 of 2 comparisons", text)
        self.assertIn("1, A case: Larder against nginx, in p99 and CPU (requests/s × 2, p99 × 2.5, CPU × 1)", text)

    def test_a_table_has_errors_checks_and_warnings(self):
        failing = row("nginx", PEER, [1.0], [1.0], [1.0], check={"tool": "wrk", "rate": 1234.0}, warnings=[{"kind": "late-sends", "text": "sent late"}])
        failing.errors, failing.faults = 12, {"timeout": 11, "status 502": 1, "reset": 0}
        text = report.table_of(result(failing, AHEAD))
        self.assertIn("| 12 (timeout 11, status 502 1) | wrk 1,234 |", text)
        self.assertIn("- nginx: sent late", text)

    def test_the_page_follows_from_the_raw_data(self):
        run = {"date": "2000-01-01", "call": "lab/run", "quick": True, "warnings": ["busy"], "machine": {"cores": "2"}}
        page = report.page(run, json.loads(json.dumps([result(*PLAIN, AHEAD)])), "results/2000-01-01")
        for said in ("](results/2000-01-01/1-an-article.svg)", "too small to quote", "- busy", "- cores: 2"):
            self.assertIn(said, page)

    def test_the_page_in_docs_is_made_from_the_newest_results(self):
        newest = archive.newest()
        run, results = archive.read(newest) if newest else (None, [])
        pictures = f"../lab/results/{newest.name}" if newest else ""
        self.assertEqual(place.PAGE.read_text(), report.page(run, results, pictures), "run lab/run --page")


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

    def test_versions_are_pinned(self):
        self.assertRegex(install._pinned("go.mod")[0], r"^v2\.")
        self.assertEqual(len(install._pinned("pom.xml")), 2)
        lines = [line for line in install.PINNED.read_text().splitlines() if line and not line.startswith("#")]
        for line in lines:
            self.assertRegex(line, r"^[a-z-]+==[\d.]+$")
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
