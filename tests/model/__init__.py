"""A model of the outbox: the real relay, eager publisher and store, driven at random.

    make model                              # the run of ``make test``
    make model SEED=7 EXAMPLES=2000         # another one, and longer

A run that fails prints the command that repeats it: all threads run one at a time, and every
clock, SQLite's too, is the model's, so the same seed and number of examples give the same run.
"""
