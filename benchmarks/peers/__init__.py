"""The engines that are compared, each a program of its own: ``python -m benchmarks.peers.NAME INPUTS`` writes JSON lines."""
