"""The authority on settings: pydantic-settings decides what is allowed and words the error. Called by config when in doubt, only then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from dataclasses import Field as DataclassField
from typing import Annotated, Any

from pydantic import AliasChoices, Field, ValidationError, create_model
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from runner.errors import ConfigError
from runner.masking import masked

Definitions = Mapping[str, DataclassField[Any]]


def judge(definitions: Definitions, variables: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings by name, texts and numbers; ConfigError names each wrong variable, its value and what is allowed, in one line."""
    shapes: dict[str, Any] = {name: _shape(one, variables[name]) for name, one in definitions.items()}
    model = create_model("Settings", __base__=_reading(environ), **shapes)
    try:
        return model().model_dump()
    except ValidationError as error:
        known = {alias: one for one in definitions.values() for alias in (variables[one.name], one.metadata.get("falls_back"))}
        said = [_said(known[str(wrong["loc"][0])], wrong, variables) for wrong in error.errors()]
        raise ConfigError("; ".join(said)) from None


def _reading(environ: Mapping[str, str]) -> type[BaseSettings]:
    """A base that reads this environment alone: no .env file, no secrets folder, names in their exact case."""

    class Reading(BaseSettings):
        model_config = SettingsConfigDict(
            case_sensitive=True,
            str_strip_whitespace=True,
            regex_engine="python-re",
            allow_inf_nan=False,
            validate_default=False,
            extra="ignore",
        )

        @classmethod
        def settings_customise_sources(cls, settings_cls: type[BaseSettings], **_: Any) -> tuple[PydanticBaseSettingsSource, ...]:  # type: ignore[override]
            source = EnvSettingsSource(settings_cls)
            source.env_vars = {name: value for name, value in environ.items() if value.strip()}
            return (source,)

    return Reading


def _shape(one: DataclassField[Any], variable: str) -> tuple[Any, Any]:
    facts = one.metadata
    aliases = AliasChoices(variable, *([facts["falls_back"]] if "falls_back" in facts else []))
    if isinstance(one.default, float):
        rule = Field(ge=facts["at_least"], le=facts["at_most"], validation_alias=aliases)
        return Annotated[float, rule], one.default
    rule = Field(pattern=rf"\A(?:{facts['pattern']})\Z" if "pattern" in facts else None, validation_alias=aliases)
    return Annotated[str, rule], ... if one.default is MISSING else one.default or ""


def _said(one: DataclassField[Any], error: ErrorDetails, variables: Mapping[str, str]) -> str:
    facts, name = one.metadata, variables[one.name]
    allowed = facts["allowed"] or f"seconds, {facts['at_least']:g} to {facts['at_most']:g}"
    if error["type"] == "missing":
        return f"{name} is not set: allowed is {allowed}"
    value = masked(str(error["input"])) if facts.get("secret") else str(error["input"])
    why = "" if error["type"] == "string_pattern_mismatch" else f" ({error['msg'][:1].lower()}{error['msg'][1:]})"
    return f"{name} is {value!r}{why}: allowed is {allowed}"
