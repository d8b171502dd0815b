"""TrueSpd beside other load generators on one machine: see `bench/side-by-side --help`."""
