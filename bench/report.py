"""The table that a person reads. Called by __main__."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.figures import Section


def show(section: Section, console: Console) -> None:
    """Print one section: figures, ratios, targets, notes."""
    table = Table(title=section.title, title_justify="left", title_style="bold")
    table.add_column("", no_wrap=True)
    for name in ("unit", "median", "min .. max", "rounds", *(f"over {one}" for one in section.beside)):
        table.add_column(name, justify="left" if name == "unit" else "right", no_wrap=True)
    for figure in section.figures:
        ratios = [section.ratio(figure, other) for other in section.beside]
        spread = f"{number(min(figure.values))} .. {number(max(figure.values))}"
        words = [figure.name, figure.unit, number(figure.median), spread, str(len(figure.values))]
        table.add_row(*map(escape, words), *("" if one is None else f"{one:.2f}" for one in ratios))
    console.print(table)
    for target in section.targets:
        said = "[green]met   [/]" if target.met else "[bold red]missed[/]"
        bound = f"{'at least' if target.at_least else 'at most'} {number(target.bound)}"
        console.print(f"  {said} {escape(target.says)}: {number(target.value)}, wanted {bound}", soft_wrap=True)
    for note in section.notes:
        console.print(f"  {escape(note)}", soft_wrap=True)
    console.print()


def number(value: float) -> str:
    """A number with about three figures."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
