"""What templates of the gallery ask for."""
