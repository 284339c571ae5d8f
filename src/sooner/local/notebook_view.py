"""A query as a notebook shows it: how far it is, and which columns it gives. Nothing is read for it."""

from html import escape

import pyarrow as pa

from sooner.plain_text import plain_text
from sooner.progress import Progress


def notebook_view(progress: Progress, schema: pa.Schema) -> str:
    columns = [(escape(plain_text(field.name)), escape(plain_text(field.type))) for field in schema]
    rows = "".join(f"<tr><td>{name}</td><td>{type_}</td></tr>" for name, type_ in columns)
    return (
        f"<div><strong>sooner.Query</strong> {escape(str(progress))}"
        f"<table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
