"""The Postgres (with pgvector) and the Valkey that come as wheels and live under ARISE_HOME."""
