"""Event serialization with orjson and cattrs."""
