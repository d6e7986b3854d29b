"""`python -m release`: refuses or builds all that is published at one version, tries it, and leaves it in dist/. Run by `make release`."""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from release import bom, images, pack, trial, versions
from release.faults import Refused, ran
from release.versions import ROOT


def main(arguments: list[str] | None = None) -> int:
    """Release; the exit code: 2 where something has to be mended first."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--require-image", action="store_true", help="fail where docker cannot build the images")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder, emptied before (%(default)s)")
    parser.add_argument("--without-trial", action="store_true", help="leave out the quick start in a clean virtual environment")
    options = parser.parse_args(arguments)
    try:
        released(options.out.resolve(), require_image=options.require_image, with_trial=not options.without_trial)
    except Refused as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    return 0


def released(out: Path, *, require_image: bool, with_trial: bool) -> None:
    """All steps in their order; what can be refused is refused before anything is built."""
    version = versions.current()
    notes = versions.section(version)
    check_clean(ROOT)
    no_image = images.why_not()
    if no_image and require_image:
        raise Refused(f"no images: {no_image}")
    epoch_s = int(ran(["git", "log", "-1", "--format=%ct"], cwd=ROOT))
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="runner-release-") as folder:
        source = Path(folder)
        _copy_commit(source)
        packed = [*pack.python_packages(source, out, epoch_s), pack.chart(source, out, version, epoch_s)]
        _say(f"{version}: {', '.join(path.name for path in packed)}")
        tags = {} if no_image else images.built(source, version)
        _say(f"no images: {no_image}" if no_image else f"images: {', '.join(tags)}")
        _bills(source, out, version, tags, epoch_s)
    (out / f"notes-{version}.md").write_text(notes, encoding="utf-8")
    if with_trial:
        trial.in_clean_venv(next(out.glob("*.whl")))
        _say("the quick start passed with the wheel in a clean virtual environment")
    _say(f"{pack.checksums(out)}")


def check_clean(root: Path) -> None:
    """What is released is a commit, not what lies around."""
    changed = ran(["git", "status", "--porcelain"], cwd=root).splitlines()
    if changed:
        raise Refused(f"{len(changed)} files are not committed, such as {changed[0][3:]}: commit or remove them first")


def _copy_commit(source: Path) -> None:
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(source, filter="data")


def _bills(source: Path, out: Path, version: str, tags: dict[str, str], epoch_s: int) -> None:
    """What is in each image, compared with the image itself where it was built."""
    python = images.python_of(source, next(iter(tags), ""))
    for target, tag in zip(images.TARGETS, tags or ("", ""), strict=True):
        listed = bom.written(source, out, target, version, python, epoch_s)
        if tag:
            images.compare(tag, listed)
        _say(f"bill of materials: {target}, {len(listed)} packages on Python {python}{', as in the image' if tag else ''}")
    if tags:
        (out / f"images-{version}.txt").write_text("".join(f"{tag} {name}\n" for tag, name in tags.items()), encoding="utf-8")


def _say(said: str) -> None:
    print(f"release: {said}")


if __name__ == "__main__":
    sys.exit(main())
