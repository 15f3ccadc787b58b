"""Expressions that call the functions of the extension."""

import json
from collections.abc import Mapping
from typing import Any

from django.db.models import FloatField, Func, IntegerField, JSONField, TextField, Value
from django.db.models.functions import Cast
from django.utils.deconstruct import deconstructible

from .fields import FingerprintField


def jsonb_value(document: Mapping[str, Any]) -> Cast:
    """A constant of type jsonb. The members are sorted: the same document makes the same SQL."""
    return Cast(Value(json.dumps(document, sort_keys=True), TextField()), JSONField())


def fingerprint_value(value: Any) -> Any:
    """An integer as a fingerprint of type bigint. Expressions, and names of fields, stay as they are."""
    if isinstance(value, int):
        return Value(value, FingerprintField())
    return value


def with_options(arguments: list[Any], options: Mapping[str, Any] | None) -> list[Any]:
    return [*arguments, jsonb_value(options)] if options else arguments


@deconstructible(path="pg_simhash.django.SimHash")
class SimHash(Func):
    """``simhash(content, options)``: the fingerprint of a text, or of a ``SearchVector``.

    ``SimHash("body")`` is the fingerprint of a field, ``SimHash(Value(text))`` that of a text. Pass the options of the
    column, a dict, to search it: fingerprints with different options cannot be compared.
    """

    function = "simhash"
    output_field = FingerprintField()

    def __init__(self, content: Any, options: Mapping[str, Any] | None = None, **extra: Any) -> None:
        super().__init__(*with_options([content], options), **extra)


@deconstructible(path="pg_simhash.django.SimHashBand")
class SimHashBand(Func):
    """``simhash_band(content, band, options)``: a band of a text, for indexes.

    ``band_indexes`` makes the indexes on all bands.
    """

    function = "simhash_band"
    output_field = IntegerField()

    def __init__(self, content: Any, band: int, options: Mapping[str, Any] | None = None, **extra: Any) -> None:
        super().__init__(*with_options([content, Value(band)], options), **extra)


@deconstructible(path="pg_simhash.django.SimHashSize")
class SimHashSize(SimHash):
    """``simhash_size(content, options)``: the size of a text, for indexes.

    That is the number of its features and pairs of neighbouring features, by weight. Give the options of the band
    indexes.
    """

    function = "simhash_size"
    output_field = IntegerField()


@deconstructible(path="pg_simhash.django.SimHashBlock")
class SimHashBlock(Func):
    """``simhash_block(fingerprint, block, blocks)``: a block of a fingerprint, for indexes.

    ``block_indexes`` makes the indexes on all blocks.
    """

    function = "simhash_block"
    output_field = IntegerField()

    def __init__(self, fingerprint: Any, block: int, blocks: int = 4, **extra: Any) -> None:
        super().__init__(fingerprint_value(fingerprint), Value(block), Value(blocks), **extra)


@deconstructible(path="pg_simhash.django.HammingDistance")
class HammingDistance(Func):
    """``fingerprint <~> value``: in how many bits two fingerprints differ, 0 to 64.

    The value is an int, the name of a field, or an expression. ``order_by(HammingDistance("fingerprint", value))[:10]``
    reads the ten nearest rows from the block indexes.
    """

    template = "(%(expressions)s)"
    arg_joiner = " <~> "
    arity = 2
    output_field = IntegerField()

    def __init__(self, fingerprint: Any, value: Any, **extra: Any) -> None:
        super().__init__(fingerprint_value(fingerprint), fingerprint_value(value), **extra)


@deconstructible(path="pg_simhash.django.Resemblance")
class Resemblance(Func):
    """``simhash_resemblance(content, other, options)``: the resemblance of two texts, 0 to 1.

    That is the share of features and pairs of neighbouring features that they have in common. A str is the name of a
    field; ``Value(text)`` is a text. Give the options of the band indexes.
    """

    function = "simhash_resemblance"
    output_field = FloatField()

    def __init__(self, content: Any, other: Any, options: Mapping[str, Any] | None = None, **extra: Any) -> None:
        super().__init__(*with_options([content, other], options), **extra)
