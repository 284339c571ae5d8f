"""The command `sooner results`: the page of what experiments found, and its pictures beside it."""

import argparse
from pathlib import Path

from sooner.extras import require
from sooner.plain_text import plain_text
from sooner.ui.new_files import new_file
from sooner.ui.paper_pictures import FOLDER, PaperPicture, SweepPicture, pictures_of
from sooner.ui.progress_line import add_progress_arguments, progress_line
from sooner.ui.result_files import read_reports
from sooner.ui.results_page import results_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE.json", help="of `sooner lab run` or a benchmark; or a folder"
    )
    parser.add_argument(
        "--to",
        type=new_file,
        required=True,
        metavar="FILE.md",
        help=f"the page to write; its pictures go to the folder {FOLDER} beside it",
    )
    add_progress_arguments(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    reports = read_reports(options.files)
    pictures, folder = pictures_of(reports), options.to.parent / FOLDER
    with progress_line(options, lambda: f"drawing {len(pictures)} pictures"):
        if pictures:
            _draw(pictures, folder)
    options.to.write_text(results_page(reports))
    count = f"{len(pictures)} picture{'s' * (len(pictures) > 1)}"
    print(f"wrote {plain_text(options.to)}" + (f", with {count} in {plain_text(folder)}" if pictures else ""))
    return 0


def _draw(pictures: list[PaperPicture | SweepPicture], folder: Path) -> None:
    require("matplotlib", "A page with pictures", "ui")
    from sooner.ui.plots import draw_paper  # here, because matplotlib takes a second to load

    folder.mkdir(exist_ok=True)
    for picture in pictures:
        draw_paper(picture, folder / picture.file_name)
