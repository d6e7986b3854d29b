"""`runner dev`: queues, workers and controller on one's own machine, for the code that is being written. Called by cli.

`develop` runs until Ctrl-C, `session` starts and ends the processes, `watch` notices saved files and has `check` import them,
`follow` reads what the processes write, `told` words it.
"""
