"""What people said of results and did with them: written down, and tied to the code as it was then."""
