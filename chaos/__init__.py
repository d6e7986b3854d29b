"""Real workers, controllers and a real Redis, killed at random while tasks run; a ledger outside Redis judges. Called by make chaos."""
