"""Sync: what changed here, what changed there, and how both come to agree. So far its local half."""
