"""A PostgreSQL database of its own for each test."""

import pytest
from postgres_server import new_database


@pytest.fixture
def database() -> str:
    return new_database()
