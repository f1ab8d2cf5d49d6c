"""The demo agent as a command: `bn run spec.md --agent 'python demo/agent.py'`."""

from scripted_agent.main import run

if __name__ == "__main__":
    run()
