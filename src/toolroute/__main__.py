"""``python -m toolroute``."""

from .cli.main import main

main()
