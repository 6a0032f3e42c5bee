"""Campaigns: faults of one kind, tried many times over. Each writes its counts into the page that reports them.

    make campaign                          all of them, and the tables in docs/reliability.md and docs/interop.md
    PYTHONPATH=tests python -m campaigns mutants --count 500

A campaign gives a `Tally`: how many were tried and which were missed, by kind. A sample of each runs with `make test`,
the whole with `make test-all`.
"""
