"""Benchmarks: one file per question. Not part of the package."""
