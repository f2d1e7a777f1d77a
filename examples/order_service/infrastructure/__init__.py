"""Where orders are kept and where their events go."""
