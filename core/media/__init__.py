"""What people send besides words: fetched through a guard, looked at in a child process, kept under
the digest of its bytes."""
