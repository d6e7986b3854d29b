"""Handlers that declare pydantic models. Loaded by the children of the tests beside it."""

from __future__ import annotations

import pydantic

import runner


class Size(pydantic.BaseModel):
    width: int = pydantic.Field(gt=0, alias="w")
    password: str = ""

    @pydantic.field_validator("password")
    @classmethod
    def check(cls, password: str) -> str:
        return str(int(password))


@runner.task("size")
def size(p: Size) -> int:
    return p.width
