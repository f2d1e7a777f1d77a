"""Consumers that are killed while they are given duplicates in the wrong order: once, in order?"""
