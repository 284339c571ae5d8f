"""A query as a notebook shows it: how far it is, and which columns it gives. Nothing is read for it."""

from html import escape

import pyarrow as pa

from sooner.progress import Progress


def notebook_view(progress: Progress, schema: pa.Schema) -> str:
    rows = "".join(f"<tr><td>{escape(field.name)}</td><td>{escape(str(field.type))}</td></tr>" for field in schema)
    return (
        f"<div><strong>sooner.Query</strong> {escape(str(progress))}"
        f"<table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
