"""What templates of the console ask for."""
