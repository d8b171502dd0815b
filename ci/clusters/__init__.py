"""Parts of ci/cluster."""
