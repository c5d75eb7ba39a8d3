"""Votes in models that ``fully_shard`` (FSDP2) has divided among processes."""
