"""Makes the modules beside this file (``random_cases``, ``scripts``) importable from every folder of tests."""
