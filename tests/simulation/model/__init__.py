"""What was promised: plain Python, without a broker."""
