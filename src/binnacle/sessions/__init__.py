"""Sessions of agents: their plans, their life from beginning to end, and what they may do in a shell."""
