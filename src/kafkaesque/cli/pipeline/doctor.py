"""`kafkaesque pipeline doctor`: what pipelines will run on, and what is missing.

Exit code 0 says that nothing is missing, 1 that something is. Above: app.py. Below:
pipelines/doctor.py, imported on use.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table, tell

if TYPE_CHECKING:
    from kafkaesque.pipelines.doctor import Finding


def doctor(
    run: Annotated[
        bool, typer.Option("--run", help="Start Spark, run a small job, and say how long it took.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Say what pipelines will run on, and what is missing.

    The exit code is 1 if something is.

    \b
    Examples:
      kafkaesque pipeline doctor
      kafkaesque pipeline doctor --run --format json
    """
    from kafkaesque.pipelines.doctor import look

    findings = look()
    problems = [finding.problem for finding in findings if finding.problem]
    if output is Format.TABLE:
        _print(findings)
    steps = _run(output) if run and not problems else []
    if output is not Format.TABLE:
        told: dict[str, Any] = {"found": [asdict(finding) for finding in findings]}
        echo_data({**told, "problems": problems, "steps": steps}, output)
    for problem in problems:
        tell(problem)
    if problems:
        raise typer.Exit(1)


def _print(findings: "list[Finding]") -> None:
    rows = [
        (found.name, found.version, "no" if found.problem else "yes", found.place, found.note)
        for found in findings
    ]
    echo_table(("NAME", "VERSION", "FITS", "PLACE", "NOTE"), rows)


def _run(output: Format) -> list[dict[str, object]]:
    """A table's lines come as the steps are done, for one of them takes half a minute."""
    from kafkaesque.pipelines.doctor import run

    steps: list[dict[str, object]] = []
    if output is Format.TABLE:
        typer.echo()
    for step in run():
        steps.append({"name": step.name, "seconds": round(step.seconds, 2)})
        if output is Format.TABLE:
            typer.echo(f"{step.name}: {step.seconds:.1f} s")
    return steps
