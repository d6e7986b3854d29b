"""What modelled handlers take: a pydantic model. Imported by the handlers and by the tests, which must register no handler."""

from __future__ import annotations

import pydantic


class Size(pydantic.BaseModel):
    width: int = pydantic.Field(gt=0, alias="w")
    password: str = ""

    @pydantic.field_validator("password")
    @classmethod
    def check(cls, password: str) -> str:
        return str(int(password))
