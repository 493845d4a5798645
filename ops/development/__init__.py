"""What developers use of ops: the parts of ops/test, ops/bench, ops/chaos and ops/fuzz. Operators need none of it."""
