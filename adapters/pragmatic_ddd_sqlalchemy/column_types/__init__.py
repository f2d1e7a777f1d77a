"""Column types for values of the domain: the same value and type on every database."""

from pragmatic_ddd_sqlalchemy.column_types.enum_value import EnumValueType
from pragmatic_ddd_sqlalchemy.column_types.exact_decimal import ExactDecimalType
from pragmatic_ddd_sqlalchemy.column_types.utc_instant import UtcInstantType
from pragmatic_ddd_sqlalchemy.column_types.value_object import ValueObjectType

__all__ = [
    "EnumValueType",
    "ExactDecimalType",
    "UtcInstantType",
    "ValueObjectType",
]
