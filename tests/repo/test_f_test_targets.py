"""The figures of the guide to targets are those of the study."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_guide_has_the_figures_of_the_study():
    study = json.loads((ROOT / "studies/results/f-test-targets.json").read_text("utf-8"))
    page = (ROOT / "docs/guide/targets.md").read_text("utf-8")
    shares: dict[tuple[int, str], list[float]] = {}
    for result in study["results"]:
        shares.setdefault((result["rows"], result["target"]), []).append(result["share"][1])
    for (rows, target), row in shares.items():
        cells = " | ".join(f"{100 * share:.2f}" for share in row)
        assert f"| {rows} | {target} | {cells} |" in page
    tails = [100 * result["share"][0] for result in study["results"]]
    assert f"in {min(tails):.1f}% to {max(tails):.1f}% of the columns" in page
